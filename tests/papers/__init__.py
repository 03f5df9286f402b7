"""The papers' own figures, vectors and programs, one file per paper; and what plays them."""

"""The papers' own figures, vectors and programs, one file per paper; and what plays them.

No test in this folder starts a JVM.
"""

"""Studies: their cells, what is kept of them, what is made of that. No test in this folder starts a JVM."""

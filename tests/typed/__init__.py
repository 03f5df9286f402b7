"""The types of the package, seen from outside. No test in this folder starts a JVM."""

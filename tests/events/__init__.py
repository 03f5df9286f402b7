"""No test in this folder starts a JVM."""

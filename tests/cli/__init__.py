"""The command line where it needs no Spark. No test in this folder starts a JVM."""

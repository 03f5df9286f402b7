"""Tests of the compiled kernels, many against plain definitions. No test in this folder starts a JVM."""

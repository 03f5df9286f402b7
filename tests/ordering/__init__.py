"""Tests of the order of a partition. No test in this folder starts a JVM."""

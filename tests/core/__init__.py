"""Tests of the parts that every protocol shares, each on its own. No test in this folder starts a JVM."""

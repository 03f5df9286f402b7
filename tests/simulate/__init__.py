"""Tests of the simulator, the explorer and their commands. No test in this folder starts a JVM."""

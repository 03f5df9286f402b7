"""Tests of tables of events made into graphs. No test in this folder starts a JVM."""

"""Tests of the readers and writers of logs. No test in this folder starts a JVM."""

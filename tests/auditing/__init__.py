"""Tests of findings, sentences and the audit in chunks. No test in this folder starts a JVM."""

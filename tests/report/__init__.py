"""Tests of pages and pictures, some of them in a real browser. No test in this folder starts a JVM."""

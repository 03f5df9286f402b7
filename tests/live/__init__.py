"""Nodes over connections, with and without journals. No test in this folder starts a JVM."""

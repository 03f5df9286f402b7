"""Packets, stamps and calls that are wrong: refused, without a trace. No test in this folder starts a JVM."""

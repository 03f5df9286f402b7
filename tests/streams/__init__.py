"""Streams without Spark: the step of a micro-batch, its files, its marks.

No test in this folder starts a JVM.
"""

"""Every error found in a paper, with the shortest execution that shows it; docs/errata.md lists them.

No test in this folder starts a JVM.
"""

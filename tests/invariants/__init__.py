"""The invariants of the protocols, asserted after every step of random executions.

No test in this folder starts a JVM.
"""

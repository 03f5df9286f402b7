"""causality: happened-before and what follows from it: clocks, the oracle, the compiled gate, audit kernels.

May use numpy and numba; must not know networks, files or Spark.
"""

"""kernels: compiled loops over arrays, and the arrays they share. No strings, no tables.

Owns: the gate, the bit engine, the linking of sends to deliveries, graphs, clocks and ragged arrays. Uses
numpy and numba; must not know tables, files, networks or Spark.
"""

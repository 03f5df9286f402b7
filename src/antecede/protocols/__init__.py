"""protocols: one file per protocol, and the registry with the facts of each.

A protocol says how its stamp is made and how it turns into needs and gains; the gate, the envelope and
the checks are core's. Uses core and numpy; must not know networks, clocks of the machine, files or Spark.
"""

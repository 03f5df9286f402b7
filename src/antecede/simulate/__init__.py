"""Simulated networks, workloads and faults, and the explorer: drives real endpoints, deterministically.

Owns: the event loop, the network's delays and faults, the applications' traffic, what a run cost, the
traces it leaves, the exhaustive explorer and the fault campaign. Must not know: any protocol's rules (it
sees endpoints and packets only), wall-clock time, sockets, Spark, the terminal.
"""

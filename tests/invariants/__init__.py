"""The invariants of the protocols, asserted after every step of random executions."""

"""core: packets, effects, the endpoint contract, the gate, errors and the wire form.

Owns what every protocol shares. Does no input or output, asks no clock, draws no random number, and
knows no protocol by name. Uses the standard library and msgspec only.
"""

"""events: a table of events made into one graph of causes. Start at `graph`.

Owns: what tells of causes (process order, messages, clocks, parents) and how these become one graph.
Arrow in, arrays out; must not know Spark, files or the terminal.
"""

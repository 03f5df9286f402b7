"""One huge execution, audited by many tasks: what these tasks do.

Strings never meet in one place. Tasks number the events (`catalog`), match messages id by id (`matching`) and
turn findings into sentences (`sentences`); in between, one task for each execution gets nothing but numbers
and judges the graph with the very functions that audit a small execution (`judging`). So both audits give
the same answers. The tables that tasks hand on stand in `layouts`.
"""

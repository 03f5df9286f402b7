"""A node as a process of its own: other programs speak with it in JSON lines.

Owns the configuration file, the lines, the logs, the metrics and the certificates. Knows nodes as any
application does; a node knows nothing of this.
"""

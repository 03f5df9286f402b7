"""A table of events as a graph of causes, which order, audit and pictures share. Start at `execution`."""

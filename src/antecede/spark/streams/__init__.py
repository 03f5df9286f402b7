"""Streams on Spark: micro-batches of Structured Streaming in causal order, through `foreachBatch`.

Spark brings the rows of a bucket of groups to one task; the task runs the step of `antecede.streams`, which
reads and writes the files itself. So rows go to Python once, and none of them comes back.
"""

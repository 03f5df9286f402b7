"""The pipeline in this process: no Spark, no Java, nothing staged; for logs that fit in memory.

Owns: how the rooms without Spark are run one after the other on Arrow tables. Must not know: Spark, the
terminal. Its sibling `spark` runs the same rooms in Spark's tasks, and the results are equal row for row.
"""

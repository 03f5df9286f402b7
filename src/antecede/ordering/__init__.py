"""ordering: the rows of a table in causal order, what each held row waits for, and the root gaps.

Owns: the forms of stamps, the order of a partition, root gaps and cycles. Arrow in, Arrow out; must not know
Spark, files or the terminal. (The room is not called `order`, since `antecede.order` is a function.)
"""

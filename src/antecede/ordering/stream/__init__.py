"""stream: the order of rows that come in micro-batches, each as soon as all that caused it is out.

Owns: what is remembered of groups between micro-batches, which waiting rows can wake, the step from one state
to the next, and when to give up. Arrow in, Arrow out; must not know Spark, files or clocks: time is an
argument.
"""

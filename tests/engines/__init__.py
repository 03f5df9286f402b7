"""The same behaviour of every engine: each test here runs in this process, and on Spark."""

"""The pipeline on Spark: the session, the tables in and out, order and audit at any size.

Owns: everything that imports pyspark. Must not know: the terminal, sockets, how pages look. Imported only
where Spark is wanted, since starting it takes seconds and a Java.
"""

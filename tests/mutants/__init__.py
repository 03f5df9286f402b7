"""Wrong rules on purpose: each error known from the papers, from the rules they leave open and from public
systems, as a small change to a protocol that is shipped here, and each caught by the checks of this suite.

`python -m tests.mutants` prints the table: what is wrong, where it comes from, how it shows.

No test in this folder starts a JVM.
"""

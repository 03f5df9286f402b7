"""auditing: what is wrong with an execution: findings with witnesses, sentences and totals.

Owns: the kinds of findings, their witnesses and their words, and the audit of one huge execution in chunks.
Arrow in, Arrow out; must not know Spark, files or the terminal. (The room is not called `audit`, since
`antecede.audit` is a function.)
"""

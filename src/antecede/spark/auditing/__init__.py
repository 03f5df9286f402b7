"""Findings with witnesses, and totals, of executions that fit into a task. Start at `audit`, then `judge`."""

"""Logs and tables into DataFrames: files are read inside Spark tasks, whatever their format.

Start at `logs` (event logs) and `message_tables` (tables of messages).
"""

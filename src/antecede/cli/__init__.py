"""The command line: arguments, progress, tables for people, JSON for programs, exit codes.

Owns: what the user types and sees. Must not know: how anything is computed.
"""

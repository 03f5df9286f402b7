"""Pages and pictures for people.

Owns: how results look. Must not know: how they were computed; it reads result tables only.
"""

"""Rows into causal order: tables of messages by their stamps, events by all that their log tells.

Start at `order` (messages) and `event_order` (events); `outcome` is what both give.
"""

"""Order on Spark: tables of messages by their stamps, events by all that their log tells.

Start at `message_order` and `event_order`; `outcome` is what both give.
"""

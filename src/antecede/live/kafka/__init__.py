"""Nodes over Kafka: each process has a topic as its inbox, with a partition for each other member.

Owns what goes into records, and the sessions with a broker. Loaded only where an address names Kafka, since
it needs aiokafka.
"""

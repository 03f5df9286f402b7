"""Nodes over a real Kafka broker, which is a JVM of its own."""

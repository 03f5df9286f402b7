"""Tests of the room `spark`: here tests start a JVM, one for all of a test process."""

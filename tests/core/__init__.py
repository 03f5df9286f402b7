"""Tests of the parts that every protocol shares, each on its own."""

"""Tests of happened-before: what is known of it without any protocol, and the compiled gate."""

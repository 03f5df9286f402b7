"""One huge execution judged by many tasks, in overlapping chunks. Start at `judge`."""

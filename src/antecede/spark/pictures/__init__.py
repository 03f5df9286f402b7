"""Which events of a log to draw, and their clocks. Start at `windows`."""

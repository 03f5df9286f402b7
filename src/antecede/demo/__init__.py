"""What antecede does, on examples: `python -m antecede.demo`, or `make demo`."""

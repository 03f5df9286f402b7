"""bench: how fast the gates are, how others do on the same work, and what each protocol costs in bytes.

Run it as `python -m bench`, or with the names of sections. Every figure is measured in the run that prints
it; seconds are seconds of processor time.
"""

"""The judge of a run: is told what happened, block by block, and says what was wrong and what waited."""

"""Every error found in a paper, with the shortest execution that shows it; docs/errata.md lists them."""

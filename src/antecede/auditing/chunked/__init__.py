"""One huge execution, audited in chunks by many tasks: what each of these tasks does."""

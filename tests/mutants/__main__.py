"""Prints the table of mutants as Markdown: `python -m tests.mutants`."""

from tests.mutants.rows import MUTANTS
from tests.mutants.table import MEANING

print("| mutant | what is wrong | where it comes from | protocol | verdict |\n|---|---|---|---|---|")
for row in MUTANTS:
    print(f"| {row.name} | {row.wrong} | {row.source} | {row.shipped.facts.name} | {row.verdict} |")
print()
for word, meaning in MEANING.items():
    print(f"- {word}: {meaning}")

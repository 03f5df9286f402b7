"""Copies what `antecede study all` wrote into docs/studies: a page for each study, its charts beside it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs" / "studies"


def publish_study(folder: Path) -> Path:
    """Copy the text and the charts of one study; where the page is."""
    name = folder.name
    charts = DOCS / "charts" / name
    shutil.rmtree(charts, ignore_errors=True)
    shutil.copytree(folder / "charts", charts)
    page = DOCS / f"{name}.md"
    text = (folder / "result.md").read_text(encoding="utf-8")
    page.write_text(text.replace("](charts/", f"](charts/{name}/"), encoding="utf-8")
    return page


def main() -> None:
    """Publish every study in the folder that is named."""
    if len(sys.argv) != 2:
        sys.exit("usage: publish_studies.py FOLDER (the --out of antecede study all)")
    results = sorted(Path(sys.argv[1]).glob("*/result.md"))
    if not results:
        sys.exit(
            f"{sys.argv[1]}: no study has left its result there; run antecede study all --out {sys.argv[1]}"
        )
    for result in results:
        print(publish_study(result.parent))


if __name__ == "__main__":
    main()

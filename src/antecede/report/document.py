"""One HTML file that loads nothing from anywhere: its style sheet and its script are inside it, and its own
policy lets nothing else run. Both are known by their hashes.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from antecede.report.text import format_visible_html


def render_document(title: str, body: Sequence[str], script: str, script_type: str = "") -> str:
    """The text of the file, to be saved as UTF-8. The script comes last; `script_type` is its type."""
    style = read_asset("page.css")
    hashes = f"style-src '{_hash_for_content_policy(style)}'; script-src '{_hash_for_content_policy(script)}'"
    policy = f"default-src 'none'; {hashes}; base-uri 'none'"
    tag = f'<script type="{script_type}">' if script_type else "<script>"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<meta name="color-scheme" content="light dark"/>',
        f"<title>{format_visible_html(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
        *body,
        "<footer>Written by antecede. This file needs no network.</footer>",
        f'<div id="card" hidden="hidden"></div>\n{tag}{script}</script>\n</body>\n</html>\n',
    ]
    return "\n".join(parts)


def read_asset(name: str) -> str:
    """A style sheet or a script of this package."""
    return resources.files("antecede.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash_for_content_policy(text: str) -> str:
    """How a Content-Security-Policy names a script or a style sheet."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

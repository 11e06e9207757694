"""Golden files: the words of a page or a command as they stand, so that a review sees what a change makes of them."""

import os
from pathlib import Path


def check(path: Path, text: str) -> None:
    """Compare a text with its golden file; with UPDATE_GOLDEN=1 in the environment write the file instead."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == expected, f"{path.name} differs; UPDATE_GOLDEN=1 writes it anew, and the diff shows what changes."

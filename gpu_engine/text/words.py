"""Parts of sentences: numbers with their nouns, and capitals."""

from gpu_engine.text import units


def amount(number: float, noun: str, plural: str = "") -> str:
    """Return a whole number with its noun: `1 graph` or `12 graphs`."""
    return f"{units.count(number)} {noun if number == 1 else plural or f'{noun}s'}"


def capital(text: str) -> str:
    """Return the text with a capital at its beginning; the rest keeps its letters."""
    return text[:1].upper() + text[1:]

"""Text of case axes and study parameters for pages and terminals."""


def axis_text(name: str, value: object) -> str:
    """Return the text of an axis or parameter: `start segments 2` for `start_segments` with the value 2."""
    return f"{name.replace('_', ' ')} {value}"

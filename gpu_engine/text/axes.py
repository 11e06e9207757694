"""Axes of cases and parameters of studies as pages and terminals show them."""


def axis_text(name: str, value: object) -> str:
    """Return `start segments 2` for the axis or parameter `start_segments` with the value 2."""
    return f"{name.replace('_', ' ')} {value}"

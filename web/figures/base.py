"""What every figure shares: an empty state and text that Plotly shows as it is."""

from html import escape as _escape

import plotly.graph_objects as go


def escape(text: str) -> str:
    """Text that Plotly renders literally: it reads tags and entities in every label, and names come from strangers."""
    return _escape(text, quote=False)


def shorten(text: str, limit: int = 24) -> str:
    """Text that fits a title on a narrow screen."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def blank(sentence: str) -> go.Figure:
    """A figure without axes that says why there is nothing to see."""
    figure = go.Figure(layout={"template": "none", "height": 120, "margin": {"l": 8, "r": 8, "t": 8, "b": 8}})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(text=escape(sentence), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure

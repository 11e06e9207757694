"""Speed-up of products from the host: everything from the host's arrays to y on the host counts."""

import plotly.graph_objects as go

from web.figures.base import Table
from web.figures.scaling import speedup
from web.scaling_cases import COLD
from web.shown import Shown

WORK = (COLD,)


def draw(shown: Shown) -> go.Figure:
    """See speedup.draw."""
    return speedup.draw(shown, WORK)


def table(shown: Shown) -> Table:
    """See speedup.table."""
    return speedup.table(shown, WORK)


def summary(shown: Shown) -> str:
    """See speedup.summary."""
    return speedup.summary(shown, WORK, "Cut, copied, multiplied and merged, from the host's arrays to y on the host:")

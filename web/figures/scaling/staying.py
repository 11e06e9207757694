"""Speed-up of work whose matrix stays on the devices: products, iterated products, PageRank."""

import plotly.graph_objects as go

from web.figures.base import Table
from web.figures.scaling import speedup
from web.scaling_cases import STAYING
from web.shown import Shown


def draw(shown: Shown) -> go.Figure:
    """See speedup.draw; a panel has one work."""
    return speedup.draw(shown, STAYING)


def table(shown: Shown) -> Table:
    """See speedup.table."""
    return speedup.table(shown, STAYING)


def summary(shown: Shown) -> str:
    """See speedup.summary."""
    return speedup.summary(
        shown, STAYING, "Matrix and vectors on the devices before and after; what brings them there does not count:"
    )

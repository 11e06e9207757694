"""ExploreAnswer and Drawer: what a page of Explore says before everything else, and on one matrix."""

from dataclasses import dataclass

from web.components import Link
from web.plots.dots import Dots
from web.plots.heat import Heat, MatrixTable
from web.plots.lines import Lines

Picture = Dots | Heat | MatrixTable | Lines
"""What the server draws on a page of Explore."""


@dataclass(frozen=True, slots=True)
class ExploreAnswer:
    """The answer to the question of a page.

    eyebrow   what was measured, where, and when
    sentence  the answer in at most 25 words
    under     at most two sentences of at most 25 words
    pictures  drawn by the server, the most important one first
    notes     small print under the pictures
    links     (text, address) of counts in `under` that lead to what they count
    """

    eyebrow: str
    sentence: str
    under: tuple[str, ...]
    pictures: tuple[Picture, ...]
    notes: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawer:
    """What a page of Explore says on one matrix or graph, beside the picture that it was opened from.

    title     name of the matrix or graph; eyebrow: where it is from and where it was measured
    sentence  the answer in at most 25 words; under: at most two sentences of at most 25 words
    facts     (name, text)
    ticks     (whether it holds, rule, value)
    links     related pages, the most important one first
    """

    title: str
    eyebrow: str
    sentence: str
    under: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    ticks: tuple[tuple[bool, str, str], ...] = ()
    links: tuple[Link, ...] = ()

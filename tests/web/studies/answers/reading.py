"""Results of the recordings of the release, without a server."""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpu_engine.findings.data import MatrixFeatures
from gpu_engine.recordings import files as recordings
from web.explore import Drawer, ExploreAnswer
from web.plots.dots import Dots
from web.results import Results
from web.selection import Selection

WORDS_MAX = 25


def recorded(study: str) -> list[str]:
    """Devices with a recording of a study."""
    return sorted(path.parent.name for path in recordings.RECORDED.glob(f"*/{study}.json.gz"))


@functools.cache
def results_of(study: str, device: str) -> Results:
    """The page of a study on a device, warm, with all matrices."""
    recording = recordings.read(recordings.RECORDED / device / f"{study}.json.gz")
    device_id, name = f"recorded:{device}", f"NVIDIA {device.upper()} (reference results)"
    measurements = tuple(replace(m, device=name) for m in recording.measurements if m.cache == "warm")
    features = {matrix.id: MatrixFeatures.of(matrix) for matrix in recording.matrices}
    chosen = Selection(device=(device_id,))
    ids, names = (device_id,), {device_id: name}
    return Results(study, chosen, chosen, (), measurements, features, measurements, ids, tuple(features), names)


def on_one(results: Results, matrix_id: str) -> Results:
    """The page with one matrix."""
    left = tuple(m for m in results.measurements if m.matrix_id == matrix_id)
    return replace(results, measurements=left, all_measurements=left)


def opened_by(href: str) -> str:
    """The matrix whose drawer an address opens."""
    (matrix_id,) = parse_qs(urlsplit(href).query)["open"]
    return matrix_id


def column(plot: Dots, head: str) -> list[tuple[str, str]]:
    """Text and verdict of the values under a head, without means."""
    place = plot.heads.index(head)
    return [(row.values[place].text, row.values[place].verdict) for row in plot.rows if not row.is_summary]


def numbers(text: str) -> list[str]:
    """All numbers of a text."""
    return re.findall(r"\d+(?:\.\d+)?", text)


def counted(verdicts: Mapping[Any, int]) -> list[str]:
    """The numbers of `faster on 2 of 12, equal or inconclusive on 4, slower on 6`, or of `faster on all 3`."""
    total, faster, slower = sum(verdicts.values()), verdicts["faster"], verdicts["slower"]
    first, *others = [number for number in (faster, total - faster - slower, slower) if number]
    return [str(number) for number in ((first, total, *others) if others else (total,))]


def sentences(answer: ExploreAnswer | Drawer) -> Iterator[str]:
    """The sentences of an answer or of a drawer."""
    for text in (answer.sentence, *answer.under):
        yield from re.split(r"(?<=[.?!]) ", text)


def check_words(answer: ExploreAnswer | Drawer) -> None:
    """No sentence is long, and the answer as a whole is not either."""
    assert len(answer.sentence.split()) <= WORDS_MAX
    assert all(len(sentence.split()) <= WORDS_MAX for sentence in sentences(answer))


def check_plot(plot: Dots) -> None:
    """Every row has a value per head, and every mark is on the drawing."""
    assert plot.rows
    assert set(plot.wide) <= set(plot.heads)
    for row in plot.rows:
        assert len(row.values) == len(plot.heads)
        for dot in row.dots:
            ends = [end for end in (dot.at, dot.low, dot.high) if end is not None]
            assert all(0 <= end <= 1 for end in ends)
            assert (dot.low is None) == (dot.high is None)
            assert dot.low is None or dot.low <= dot.at <= (dot.high or 0)

"""A run in segments that ends by itself makes the iterations of the schedule, whatever the changes γ are."""

import ctypes
import dataclasses
import math
import shutil
from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import (
    PageRankParams,
    Schedule,
    Step,
    advance,
    converts,
    ends,
    start,
    transition_matrix,
)
from gpu_engine.pagerank import converging as module
from gpu_engine.pagerank.convergence_kernel import SHORTER_CHUNKS
from gpu_engine.pagerank.converging import COURSE, ConvergingInSegments
from gpu_engine.pagerank.cuda_ranks import CudaRanks
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.conditions import Capture, Device, Ranks, compiled
from tests.programs import missing

SCHEDULES = [
    parse_params(Schedule, {"segments": segments, "start_segments": first, "raise_at": near, "stall_ratio": stall})
    for segments in (2, 4)
    for first in range(1, segments + 1)
    for near, stall in ((16.0, 0.98), (1.0, 0.98), (256.0, 0.98), (0.0, 0.7))
]
DRAWS = 100


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("c++") or missing("g++")
    return compiled(tmp_path_factory.mktemp("course"), compiler)


def of_host(schedule: Schedule, params: PageRankParams, gammas: Sequence[float]) -> list[Step]:
    """The steps of run.iterate with these γ."""
    step, steps = start(schedule), list[Step]()
    while len(steps) < params.iterations_max:
        steps.append(step)
        moved = step.transition and params.dangling != "teleport"
        step = advance(schedule, step, gammas[len(steps) - 1])
        if ends(step, params.epsilon) and not moved:
            break
    return steps


def captured(
    monkeypatch: pytest.MonkeyPatch, schedule: Schedule, params: PageRankParams, chunks: tuple[int, ...]
) -> Capture:
    capture = Capture()
    for name in ("new_handle", "if_true", "while_true"):
        monkeypatch.setattr(module, name, getattr(capture, name))
    monkeypatch.setattr(module, "RAISE", SimpleNamespace(function=lambda _: None, instantiations=("",)))
    words = np.zeros(COURSE, np.int64)
    arrays = SimpleNamespace(zeros=lambda *_: _Words(words))
    ranks: Any = Ranks(capture)
    ending = ConvergingInSegments(ranks, schedule, params, arrays)
    ending._chunks = chunks
    ending.launch()
    assert not capture.unused()
    return capture


class _Words(np.ndarray):
    """An array whose memory can be set as CuPy's."""

    def __new__(cls, words: Any) -> "_Words":
        return np.asarray(words).view(cls)

    @property
    def data(self) -> Any:
        return SimpleNamespace(memset_async=lambda *_: None)


def falling(rng: np.random.Generator, count: int) -> list[float]:
    """γ of a run: they fall by a factor that drifts, with noise."""
    factor, bend, noise = rng.uniform(0.2, 0.88), rng.uniform(0.995, 1.002), rng.uniform(0.0, 0.01)
    gamma, gammas = rng.uniform(0.01, 2.0), list[float]()
    for _ in range(count):
        gammas.append(float(gamma))
        factor = min(max(factor * bend, 0.05), 0.9)
        gamma *= factor * (1.0 + noise * rng.standard_normal())
        gamma = max(gamma, 1e-300)
    return gammas


def wild(rng: np.random.Generator, count: int) -> list[float]:
    """Any γ, zeros and the bounds of the rule among them."""
    exponents = rng.uniform(-45.0, 1.0, count)
    gammas = [float(2.0**exponent) for exponent in exponents]
    for place in rng.integers(0, count, count // 8):
        gammas[place] = rng.choice([0.0, 2.0**-20, 2.0**-16, 16 * 2.0**-36, 1e-10])
    return gammas


@pytest.mark.parametrize("draw", [falling, wild])
@pytest.mark.parametrize("dangling", ["teleport", "ignore"])
@pytest.mark.parametrize(
    "schedule", SCHEDULES, ids=lambda s: f"{s.segments}-{s.start_segments}-{s.raise_at:g}-{s.stall_ratio:g}"
)
def test_with_a_look_at_every_change_it_makes_the_steps_of_the_host(
    monkeypatch: pytest.MonkeyPatch, rules: ctypes.CDLL, schedule: Schedule, dangling: str, draw: Any
) -> None:
    rng = np.random.default_rng([schedule.segments, schedule.start_segments, int(schedule.raise_at)])
    for most in (60, 7):
        params = parse_params(PageRankParams, {"dangling": dangling, "iterations_max": most})
        nodes = captured(monkeypatch, schedule, params, ()).graphs[0]
        for _ in range(DRAWS // 8):
            gammas = draw(rng, most)
            device = Device(gammas, rules, SHORTER_CHUNKS)
            device.walk(nodes)
            _same(device, of_host(schedule, params, gammas), schedule)


@pytest.mark.parametrize(
    "schedule", SCHEDULES, ids=lambda s: f"{s.segments}-{s.start_segments}-{s.raise_at:g}-{s.stall_ratio:g}"
)
def test_in_chunks_it_makes_the_steps_of_the_host_or_says_that_it_was_late(
    monkeypatch: pytest.MonkeyPatch, rules: ctypes.CDLL, schedule: Schedule
) -> None:
    params, rng = PageRankParams(iterations_max=300), np.random.default_rng(schedule.segments)
    nodes = captured(monkeypatch, schedule, params, SHORTER_CHUNKS).graphs[0]
    late = 0
    for draw in (falling,) * DRAWS + (wild,) * (DRAWS // 4):
        gammas = draw(rng, params.iterations_max + max(SHORTER_CHUNKS))
        device, expected = Device(gammas, rules, SHORTER_CHUNKS), of_host(schedule, params, gammas)
        device.walk(nodes)
        if device.late:
            assert [Step(*step) for step in device.steps] != [Step(s.read, s.write) for s in expected]
            late += 1
        else:
            _same(device, expected, schedule)
    assert late < 0.05 * DRAWS


def test_most_iterations_are_made_without_a_look(monkeypatch: pytest.MonkeyPatch, rules: ctypes.CDLL) -> None:
    params, gammas = PageRankParams(), [0.5 * 0.85**k for k in range(150)]
    for schedule, most in ((Schedule(), 35), (Schedule(segments=4), 45)):
        device, expected = Device(gammas, rules, SHORTER_CHUNKS), of_host(schedule, params, gammas)
        device.walk(captured(monkeypatch, schedule, params, SHORTER_CHUNKS).graphs[0])
        _same(device, expected, schedule)
        assert device.looks <= most < len(expected) == 139


def _same(device: Device, expected: Sequence[Step], schedule: Schedule) -> None:
    assert device.steps == [(step.read, step.write) for step in expected]
    assert device.places == [(number % 2, 1 - number % 2) for number in range(len(expected))]
    assert device.converted == [number for number, step in enumerate(expected, 1) if converts(schedule, step)]
    assert not device.late


@pytest.mark.parametrize("converting", [True, False])
@pytest.mark.parametrize("written", [(1,), (1, 1, 2), (1, 2, 3, 3), (2, 2, 3, 4), (1, 2, 3, 4, 4), (4, 4, 4)])
def test_ranks_are_where_a_run_that_the_host_followed_would_have_left_them(
    written: tuple[int, ...], converting: bool
) -> None:
    graph = transition_matrix(generate("stencil", {"points": 5, "nx": 9, "ny": 7}), PageRankParams())
    ranks = CudaRanks(graph, PageRankParams(), "csr/thread", 4, np, convert=converting)
    silent: Any = _Silent()
    ranks._pull = silent
    for _ in range(2):
        ranks.reset(written[0])
        for read, write in pairwise((written[0], *written)):
            ranks.pull(read, write)
            if read < write == 4:
                ranks.convert()
        followed = dataclasses.replace(ranks._stored, raised=False)
        ranks.left(len(written), written[-1])
        found = ranks._stored
        assert (found.kind, found.p is followed.p, found.next is followed.next) == (followed.kind, True, True)
        assert type(found.values) is type(followed.values)


class _Silent:
    """A pull that launches nothing."""

    order = None

    def launch(self, *_: Any) -> None:
        return


def test_the_words_of_a_course_are_those_of_the_header(rules: ctypes.CDLL) -> None:
    assert rules.words() == COURSE


@pytest.mark.parametrize(
    ("gamma", "before", "earlier", "needed"),
    [
        (1e-3, 1e-2, 0.0, 3),
        (1e-3, 1e-2, 1e-1, 3),
        (1e-3, 1e-2, 2e-2, 2),  # each falls five times as far as the one before
        (1e-3, 1e-2, 1.0, 3),  # it fell more
        (1e-3, 1e-3, 1e-2, 1),
        (0.95e-3, 1e-3, 1e-2, 1),
        (1e-7, 1e-6, 1e-5, 1),
        (0.9e-3, 1e-3, 1.1e-3, 25),  # no more is asked for
    ],
)
def test_how_many_iterations_are_needed_down_to_a_millionth(
    rules: ctypes.CDLL, gamma: float, before: float, earlier: float, needed: int
) -> None:
    assert rules.needed(0.9e-6, 0.98, 25, gamma, before, earlier) == needed


def test_the_first_change_has_none_before_it(rules: ctypes.CDLL) -> None:
    assert rules.next(1e-10, 2.0**-16, 0.98, 10, 1, 2.0, math.inf, 0) == 0

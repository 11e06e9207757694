"""A CUDA graph with conditional nodes on the host: what is captured becomes nodes, and a walk does what the graph does.

The kernel that sets conditions is that of raise.cu in Python, its decisions those of course.cuh, compiled for the host.
"""

import ctypes
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

HOST = """
#include <cmath>
#include <cstddef>
using std::log;
#define __device__
#define __forceinline__ inline
{header}
extern "C" int next(double epsilon, double near, double stall, int most, long long done, double gamma, double before,
                    int moved) {{
  return next_of({{epsilon, near, stall, most}}, done, gamma, before, moved);
}}
extern "C" int needed(double until, double stall, int most, double gamma, double before, double earlier) {{
  return needed_for(until, stall, most, gamma, before, earlier);
}}
extern "C" int words() {{ return sizeof(Course) / sizeof(long long); }}
"""
"""What makes the functions of course.cuh callable."""

STAY, RAISE = 0, 1


def compiled(folder: Path, compiler: str) -> ctypes.CDLL:
    """course.cuh for the host."""
    header = resources.files("gpu_engine.cuda").joinpath("course.cuh").read_text(encoding="utf-8")
    source, library = folder / "course.cpp", folder / "course.so"
    source.write_text(HOST.format(header=header.replace("#pragma once", "")), encoding="utf-8")
    command = [compiler, "-O2", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    rules = ctypes.CDLL(str(library))
    number, count = ctypes.c_double, ctypes.c_int
    rules.next.argtypes = [number, number, number, count, ctypes.c_longlong, number, number, count]
    rules.needed.argtypes = [number, number, count, number, number, number]
    return rules


@dataclass
class Node:
    """A kernel, or what is done if, or while, a condition is not 0."""

    do: Callable[["Device"], None] | None = None
    handle: int = 0
    loops: bool = False
    body: list["Node"] = field(default_factory=list)


class Capture:
    """Stands for the functions of cuda/conditional.py; a condition belongs to the graph that it was made in."""

    def __init__(self) -> None:
        self.graphs: list[list[Node]] = [[]]
        self._owners: dict[int, list[Node]] = {}

    def new_handle(self, _default: int) -> int:
        handle = len(self._owners) + 1
        self._owners[handle] = self.graphs[-1]
        return handle

    @contextmanager
    def if_true(self, handle: int, loops: bool = False) -> Iterator[None]:
        assert self._owners[handle] is self.graphs[-1]
        node = Node(handle=handle, loops=loops)
        self.graphs[-1].append(node)
        self.graphs.append(node.body)
        yield
        self.graphs.pop()

    def while_true(self, handle: int) -> Any:
        return self.if_true(handle, loops=True)

    def unused(self) -> set[int]:
        """Conditions without a node, which a driver refuses."""

        def handles(nodes: Sequence[Node]) -> Iterator[int]:
            for node in nodes:
                yield from (node.handle, *handles(node.body))

        return set(self._owners) - set(handles(self.graphs[0]))


class Device:
    """Walks the nodes with given γ, one an iteration; the iterations that it made, and where their ranks were."""

    def __init__(self, gammas: Sequence[float], rules: ctypes.CDLL, chunks: tuple[int, int]) -> None:
        self.gammas, self._rules, self._chunks = gammas, rules, chunks
        self.steps: list[tuple[int, int]] = []
        self.places: list[tuple[Any, Any]] = []
        self.converted: list[int] = []
        self.looks = self.late = 0
        self._conditions: dict[int, bool] = {}

    def walk(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.do is not None:
                node.do(self)
                continue
            self.looks += 1
            while self._conditions.get(node.handle):
                self.walk(node.body)
                if not node.loops:
                    break
                self.looks += 1

    def next_or_raise(self, rule: tuple[Any, ...]) -> None:
        """The kernel of raise.cu."""
        raised, _, epsilon, near, stall, most, compares, moved, until, _, look, many, some, stay, second, more = rule
        done = len(self.steps)
        gamma, before = self.gammas[done - 1], self.gammas[done - 2] if done > 1 else math.inf
        earlier = self.gammas[done - 3] if done > 2 else 0.0
        assert self.steps[-1][1] - self.steps[-1][0] == raised
        reference = before if compares else math.inf
        following = self._rules.next(epsilon, near, stall, most, done, gamma, reference, moved)
        if not look:
            self.late += following != STAY
            return
        allowed = min(int(most) - done, self._chunks[0] + 1)
        counts = following == STAY and many
        needed = self._rules.needed(until, stall, allowed, gamma, before, earlier) if counts else 0
        found = {many: needed > self._chunks[0], some: needed > self._chunks[1], more: following == RAISE}
        self._conditions |= found | dict.fromkeys((stay, second), following == STAY)
        self._conditions[0] = False


class Ranks:
    """Stands for CudaRanks: where the ranks are while a graph is captured is part of its nodes."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._place, self._kind = 0, 0

    def left(self, iterations: int, written: int) -> None:
        self._place, self._kind = iterations % 2, written

    def pull(self, read: int, write: int) -> None:
        assert self._kind == read
        place = self._place

        def do(device: Device) -> None:
            device.steps.append((read, write))
            device.places.append((place, 1 - place))

        self._add(do)
        self._place, self._kind = 1 - place, write

    def convert(self) -> None:
        self._add(lambda device: device.converted.append(len(device.steps)))

    def norm_or_end(self, _: Any, rule: tuple[Any, ...]) -> None:
        numbers = tuple(value if isinstance(value, np.ndarray) else value.item() for value in rule)
        self._add(lambda device: device.next_or_raise(numbers))

    def _add(self, do: Callable[[Device], None]) -> None:
        self._capture.graphs[-1].append(Node(do))

"""BATCH_SUBJECTS: the small benchmark matrices of the study `batched`."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_engine.findings.batched.paper import MATRICES, SIMILAR, is_one_of
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.recordings.files import collected, generated

RANDOM: tuple[tuple[int, float], ...] = (
    (1000, 5.0),
    (1000, 20.0),
    (1000, 60.0),
    (100, 8.0),
)
"""(rows, mean row length) of the random matrices, whose nonzeros have uniformly random positions."""

LENGTHS = (2, 4, 8, 16, 32, 64)
"""Mean row lengths in Figure 4 of the batched SpMV paper."""

STAND_INS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "pivtol": ("stencil", {"points": 5, "nx": 102, "ny": 1}),
    "tomography": ("rows", {"n": 500, "mean": 59.5, "sigma": 63.0, "max_length": 335}),
    "west0989": ("rows", {"n": 989, "mean": 3.7, "sigma": 2.4, "max_length": 12}),
    "G45": ("rows", {"n": 1000, "mean": 20.0, "sigma": 4.3, "max_length": 35}),
    "GD02_a": ("rows", {"n": 23, "mean": 4.5, "sigma": 3.5, "max_length": 15}),
    "Si2": ("rows", {"n": 769, "mean": 23.2, "sigma": 9.0, "max_length": 61}),
    "ck656": ("fem", {"block": 2, "nx": 328, "ny": 1, "nz": 1}),
    "ex25": ("fem", {"block": 4, "nx": 4, "ny": 53, "nz": 1}),
    "jgl011": ("rows", {"n": 11, "mean": 6.9, "sigma": 2.8, "max_length": 11}),
    "lock_700": ("fem", {"block": 4, "nx": 5, "ny": 35, "nz": 1}),
    "fs_541_1": ("rows", {"n": 541, "mean": 8.0, "sigma": 1.9, "max_length": 11}),
    "mbeacxc": ("rows", {"n": 496, "mean": 110.0, "sigma": 150.0, "max_length": 484}),
    "dwt_918": ("rgg", {"n": 918, "degree": 8.0, "order": "strips"}),
    "mcfe": ("rows", {"n": 765, "mean": 32.4, "sigma": 16.9, "max_length": 81}),
    "dwt_607": ("rgg", {"n": 607, "degree": 8.4, "order": "strips"}),
    "rbsa480": ("rows", {"n": 480, "lengths": "constant", "mean": 35.6, "max_length": 36}),
    "gr_30_30": ("stencil", {"points": 9, "nx": 30, "ny": 30}),
    "bcsstk34": ("fem", {"block": 2, "nx": 3, "ny": 7, "nz": 14}),
    "cage8": ("rows", {"n": 1015, "mean": 11.0, "sigma": 3.2, "max_length": 18}),
    "ex27": ("fem", {"block": 5, "nx": 13, "ny": 15, "nz": 1}),
    "can_838": ("rows", {"n": 838, "mean": 12.1, "sigma": 6.2, "max_length": 32}),
    "bcsstm34": ("fem", {"block": 2, "nx": 6, "ny": 7, "nz": 7}),
    "USAir97": ("rows", {"n": 332, "mean": 13.5, "sigma": 22.0, "max_length": 139}),
    "bp_1600": ("rows", {"n": 822, "mean": 6.3, "sigma": 14.0, "max_length": 304}),
    "rotor2": ("rows", {"n": 791, "mean": 13.7, "sigma": 8.0, "max_length": 791}),
    "msc00726": ("fem", {"block": 6, "nx": 11, "ny": 11, "nz": 1}),
    "nos3": ("fem", {"block": 2, "nx": 10, "ny": 48, "nz": 1}),
    "G2": ("rows", {"n": 800, "mean": 48.1, "sigma": 6.5, "max_length": 66}),
    "dwt_992": ("fem", {"block": 2, "nx": 16, "ny": 31, "nz": 1}),
    "ex2": ("fem", {"block": 8, "nx": 5, "ny": 11, "nz": 1}),
    "tols90": ("dense_rows", {"n": 90, "dense": 18, "mean": 1.75}),
    "bcsstk02": ("dense_rows", {"n": 66, "dense": 66, "mean": 0.0}),
}
"""Matrix of the batched SpMV paper → generator and parameters of its synthetic stand-in."""

PAPER: tuple[tuple[str, str, dict[str, Any]], ...] = tuple(
    (name, *STAND_INS[name.partition("/")[2]]) for name in MATRICES
)
"""Matrices of the batched SpMV paper, §4.1, in its order: name in the collection, and a synthetic stand-in."""


def is_similar(name: str) -> bool:
    """Return whether the matrix is one of the paper with 800 to 1,024 rows, or a stand-in for one."""
    return is_one_of(name, SIMILAR)


def _batches() -> Iterable[Subject]:
    for n, mean in RANDOM:
        params = {"n": n, "lengths": "lognormal", "mean": mean, "sigma": round(mean**0.5, 1), "max_length": n}
        yield Subject(f"random-{n}-{mean:g}", "batch random", generated("rows", params))
    for length in LENGTHS:
        constant = {"n": 1024, "lengths": "constant", "mean": float(length), "max_length": 1024}
        yield Subject(f"balanced-{length}", "batch balanced", generated("rows", constant))
    for length in LENGTHS:
        few = {"n": 1024, "dense": length, "mean": 0.0}
        yield Subject(f"few-rows-{length}", "batch few rows", generated("dense_rows", few))
    for name, generator, params in PAPER:
        source = generated(generator, params)
        yield Subject(name.partition("/")[2], "batch paper", collected(name), stand_in=source)


BATCH_SUBJECTS: tuple[Subject, ...] = tuple(_batches())
"""Small matrices of the study `batched`."""

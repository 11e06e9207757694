"""Work shared by devices as the study yields it, made up: times that tests can name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.scaling.experiment import ScalingDetails

NNZ = 4_000_000
MATRICES = {
    "web": MatrixFeatures("web_graph", 100_000, 100_000, NNZ, 40.0, 400.0, 9_000.0),
    "fem": MatrixFeatures("fem3", 100_000, 100_000, NNZ, 40.0, 1.0, 3.0),
}

RATIOS = (1, 2, 10)
MATRICES |= {
    f"two-level-{r}": MatrixFeatures(
        f"two-level-{r}", 100_000, 100_000, NNZ, source={"generator": "two_level", "params": {"ratio": r}}
    )
    for r in RATIOS
}

NOTE = "virtual devices: threads of this CPU; their times say nothing of a GPU"

LOPSIDED = {1: (NNZ,), 2: (3_000_000, 1_000_000), 4: (2_500_000, 500_000, 500_000, 500_000)}
"""Nonzeros of equal rows: the largest part has 1.5 and 2.5 times the mean."""


def worked(
    kernel: str,
    median_s: float,
    devices: int = 4,
    work: str = "cold",
    matrix: str = "web",
    device: str = "cuda:0",
    options: dict[str, str] | None = None,
    **fields: Any,
) -> Measurement:
    """A case with an interval of ± 1 % and equal parts of 4·10⁶ nonzeros."""
    case = _case(kernel, devices, work, matrix, options)
    variant = kernel.partition("/")[2]
    values: dict[str, Any] = {
        "ci_low_s": median_s * 0.99,
        "min_s": median_s * 0.985,
        "q1_s": median_s * 0.99,
        "q3_s": median_s * 1.005,
        "ci_high_s": median_s * 1.01,
        "gflops": 2 * NNZ / median_s / 1e9,
        "roofline_s": 1e-3 / devices,
        "max_error": 0.5,
        "aa_gap": 0.001,
        "partitioning": case.format,
        "strategy": variant if work == "cold" else "",
        "devices": devices,
        "nonzeros_by_device": (NNZ // devices,) * devices,
        "note": NOTE if device.endswith("cpu") else "",
    }
    return Measurement.of(case, device, ScalingDetails, median_s=median_s, **(values | fields))


def unworked(
    kernel: str, note: str, devices: int = 4, work: str = "cold", matrix: str = "web", device: str = "cuda:0"
) -> Measurement:
    """A skipped case."""
    case = _case(kernel, devices, work, matrix, None)
    return Measurement.of(
        case,
        device,
        ScalingDetails,
        "skipped",
        partitioning=case.format,
        strategy=kernel.partition("/")[2] if work == "cold" else "",
        devices=devices,
        note=note,
    )


def chosen(devices: int) -> dict[str, tuple[str, ...]]:
    """What a reader has chosen who speaks of so many devices; 0: nothing."""
    return {"devices": (str(devices),)} if devices else {}


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What figures are drawn from."""
    return StudyData(measurements, MATRICES, **choices)


def product(
    kernel: str, devices: int, phases: Sequence[float], matrix: str = "web", device: str = "cuda:0", **fields: Any
) -> Measurement:
    """A product from the host of these seconds of partition, distribute, compute and merge, and no others."""
    named = dict(zip(("partition", "distribute", "compute", "merge"), phases, strict=True))
    return worked(kernel, sum(phases), devices, "cold", matrix, device, phases_s=named, **fields)


def cold(matrix: str = "web", device: str = "cuda:0", partitioning: str = "pCSR") -> list[Measurement]:
    """Three strategies on 1, 2 and 4 devices: baseline 100, 90 and 80 ms, p* 100, 60 and 40, p*-opt 100, 55 and 32.

    What is distributed takes 60 ms on one device, and half and a fourth of it where the nonzeros are balanced.
    """
    seconds = {
        "baseline": {1: (0.02, 0.06, 0.016, 0.004), 2: (0.02, 0.05, 0.015, 0.005), 4: (0.02, 0.04, 0.012, 0.008)},
        "p*": {1: (0.02, 0.06, 0.016, 0.004), 2: (0.016, 0.03, 0.008, 0.006), 4: (0.012, 0.015, 0.004, 0.009)},
        "p*-opt": {1: (0.02, 0.06, 0.016, 0.004), 2: (0.013, 0.03, 0.008, 0.004), 4: (0.009, 0.015, 0.004, 0.004)},
    }
    return [
        product(
            f"{partitioning}/{strategy}",
            devices,
            phases,
            matrix,
            device,
            **({"nonzeros_by_device": LOPSIDED[devices]} if strategy == "baseline" else {}),
        )
        for strategy, by_devices in seconds.items()
        for devices, phases in by_devices.items()
    ]


def resident(matrix: str = "web", device: str = "cuda:0") -> list[Measurement]:
    """Products whose matrix stays: 8, 4.2 and 2.5 ms on 1, 2 and 4 devices."""
    return [
        worked("pCSR/resident", seconds, devices, "resident", matrix, device)
        for devices, seconds in {1: 8e-3, 2: 4.2e-3, 4: 2.5e-3}.items()
    ]


def cut_both_ways(matrix: str = "web", device: str = "cuda:0") -> list[Measurement]:
    """Resident products of equal nonzeros, 8, 4.2 and 2.5 ms, and of equal rows, 6 ms on 2 devices and 5 on 4."""
    equal = [_with(m, balance="nonzeros") for m in resident(matrix, device)]
    lopsided = [
        worked(
            "pCSR/resident",
            seconds,
            devices,
            "resident",
            matrix,
            device,
            {"balance": "rows"},
            nonzeros_by_device=LOPSIDED[devices],
        )
        for devices, seconds in {2: 6e-3, 4: 5e-3}.items()
    ]
    return [*equal, *lopsided]


def swept(slower: float = 1.0, device: str = "cuda:0") -> list[Measurement]:
    """Rows of two lengths on 4 devices: with equal nonzeros 20 ms from the host and 2 ms resident.

    Equal rows take so many times that as their largest part has of the mean, resident ones `slower` still.
    """
    found = []
    for r in RATIOS:
        parts = tuple(round(NNZ / 2 / (1 + 1 / r) * share) for share in (1, 1, 1 / r, 1 / r))
        uneven = 2 / (1 + 1 / r)
        for kernel, work, options, seconds in (
            ("pCSR/p*-opt", "cold", {"merge": "host"}, 20e-3),
            ("pCSR/resident", "resident", {}, 2e-3 * slower),
        ):
            equal = {**options, "balance": "nonzeros"} if work == "resident" else options
            matrix = f"two-level-{r}"
            found += [
                worked(kernel, seconds if work == "cold" else 2e-3, 4, work, matrix, device, equal),
                worked(
                    *(kernel, seconds * uneven, 4, work, matrix, device, {**options, "balance": "rows"}),
                    nonzeros_by_device=parts,
                ),
            ]
    return found


def by_cusparse(ours: Sequence[Measurement], whole: float, compute: float = 1.0) -> list[Measurement]:
    """The same cases with cuSPARSE's product: so many times as long, and so many times their compute phase."""
    found = []
    for m in ours:
        slower = worked(m.kernel, (m.median_s or 0.0) * whole, m.details.devices or 1, device=m.device)
        times = {
            name: getattr(slower, name)
            for name in ("median_s", "ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s", "gflops")
        }
        phases = {name: time * (compute if name == "compute" else 1.0) for name, time in m.details.phases_s.items()}
        found.append(_with(m, kernel_library="cusparse").with_(phases_s=phases, **times))
    return found


def _with(m: Measurement, **options: str) -> Measurement:
    """The same with more axes."""
    case = ",".join((m.case, *(f"{name}={value}" for name, value in options.items())))
    return replace(m, case=case, axes={**m.axes, **options})


def iterated(matrix: str = "web", device: str = "cuda:0") -> list[Measurement]:
    """Iterations of 8 ms on one device; on 4 the product takes 2 ms and the exchange 1 ms, half of it hidden."""
    seconds = {"on": {1: 8e-3, 2: 4.5e-3, 4: 2.5e-3}, "off": {1: 8e-3, 2: 5e-3, 4: 3e-3}}
    return [
        worked(
            "pCSR/iterate",
            median_s,
            devices,
            "iterate",
            matrix,
            device,
            {"exchange": "halo", "overlap": overlap},
            phases_s={"compute": 8e-3 / devices, "exchange": 1e-3 if devices > 1 else 0.0},
            exchanged_bytes=4_000_000 if devices > 1 else 0,
        )
        for overlap, by_devices in seconds.items()
        for devices, median_s in by_devices.items()
    ]


def ranked(matrix: str = "web", device: str = "cuda:0") -> list[Measurement]:
    """An iteration of PageRank in fp64 and in segments on 1 and 4 devices."""
    seconds = {"fp64": {1: 10e-3, 4: 4e-3}, "cpms2": {1: 8e-3, 4: 2.5e-3}}
    return [
        worked(
            f"pCSR/pagerank+{precision}",
            median_s,
            devices,
            "pagerank",
            matrix,
            device,
            {"exchange": "halo"},
            phases_s={"compute": 0.75 * median_s, "exchange": 0.25 * median_s if devices > 1 else 0.0},
            exchanged_bytes=400_000 if devices > 1 else 0,
            iterations=100,
        )
        for precision, by_devices in seconds.items()
        for devices, median_s in by_devices.items()
    ]


def shared(matrix: str = "web", device: str = "cuda:0") -> list[Measurement]:
    """Every work on one matrix."""
    return [*cold(matrix, device), *resident(matrix, device), *iterated(matrix, device), *ranked(matrix, device)]


def _case(kernel: str, devices: int, work: str, matrix: str, options: dict[str, str] | None) -> Case:
    merged = {"merge": "host"} if work == "cold" else {}
    axes = {"devices": str(devices), "workload": work, **(options or merged)}
    return Case(matrix, kernel, "warm", tuple(axes.items()))

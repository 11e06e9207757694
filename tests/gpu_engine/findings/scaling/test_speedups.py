"""Every case of a work with its speed-up and its phases, by value."""

from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.speedups import tables
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.scaling.experiment import ScalingDetails
from tests.gpu_engine.gpu_bench.sections import cells

COLD = ("partition", "distribute", "compute", "merge")
OVER_BASELINE, OVER_ITSELF = "speedup over baseline on one", "speedup over one device"


def measurement(kernel: str, devices: int, work: str, ms: float, *phases_ms: float, **fields: Any) -> Measurement:
    """A record of the matrix m; phases are those of its work."""
    names = COLD if work == "cold" else ("compute", "exchange")
    iterated = ",exchange=halo,overlap=on"
    axes = {"cold": ",merge=host", "iterate": iterated, "pagerank": iterated, "resident": ",balance=nonzeros"}[work]
    more = fields.pop("more", "")
    return Measurement.of(
        Case.parse(f"m|{kernel}|warm|devices={devices},workload={work}{axes}{more}"),
        "cuda:0",
        ScalingDetails,
        median_s=ms * 1e-3,
        phases_s=dict(zip(names, (t * 1e-3 for t in phases_ms), strict=False)),
        partitioning=kernel.partition("/")[0],
        devices=devices,
        **fields,
    )


def shown(work: str, *measurements: Measurement, heads: tuple[str, ...]) -> list[tuple[str, ...]]:
    return cells(dict(tables(StudyData(measurements)))[work], *heads)


def test_speed_ups_are_over_the_baseline_alone_or_the_same_kernel_where_the_matrix_stays() -> None:
    data = (
        measurement("pCSR/baseline", 1, "cold", 12.0, 1.0, 7.0, 3.0, 1.0),
        measurement("pCSR/baseline", 4, "cold", 8.0, 1.0, 3.0, 2.0, 2.0),
        measurement("pCSR/p*", 1, "cold", 7.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSR/p*", 4, "cold", 2.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSC/p*", 2, "cold", 4.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSR/resident", 1, "resident", 0.5),
        measurement("pCSR/resident", 2, "resident", 0.2),
        measurement("pCSR/resident", 1, "resident", 0.7, more=",kernel_library=cusparse"),
        measurement("pCSR/resident", 4, "resident", 0.2, more=",kernel_library=cusparse"),
    )
    assert shown("cold", *data, heads=("kernel", "devices", "time median", OVER_BASELINE)) == [
        ("pCSR/baseline, merge host", "1", "12.0 ms", "1.00 ×"),
        ("pCSR/baseline, merge host", "4", "8.00 ms", "1.50 ×"),
        ("pCSR/p*, merge host", "1", "7.00 ms", "1.71 ×"),
        ("pCSR/p*, merge host", "4", "2.00 ms", "6.00 ×"),
        ("pCSC/p*, merge host", "2", "4.00 ms", "–"),
    ]
    assert shown("resident", *data, heads=("kernel", "devices", OVER_ITSELF)) == [
        ("pCSR/resident, balance nonzeros", "1", "1.00 ×"),
        ("pCSR/resident, balance nonzeros", "2", "2.50 ×"),
        ("pCSR/resident, balance nonzeros, cusparse", "1", "1.00 ×"),
        ("pCSR/resident, balance nonzeros, cusparse", "4", "3.50 ×"),
    ]


def test_phases_have_their_times_and_the_papers_their_shares() -> None:
    data = (
        measurement("pCOO/p*-opt", 1, "cold", 10.0, 2.0, 4.0, 3.0, 0.5),
        measurement("pCOO/p*-opt", 2, "cold", 8.0, 1.0, 3.0, 2.0, 2.0),
    )
    heads = (*COLD, "partition share", "partition and distribute share", "merge share")
    assert shown("cold", *data, heads=heads) == [
        ("2.00 ms", "4.00 ms", "3.00 ms", "500 µs", "20 %", "60 %", "5.0 %"),
        ("1.00 ms", "3.00 ms", "2.00 ms", "2.00 ms", "12 %", "50 %", "25 %"),
    ]


def test_iterations_have_their_exchange() -> None:
    data = (
        measurement("pCSR/iterate", 1, "iterate", 2.0, 1.9, 0.04, exchanged_bytes=0),
        measurement("pCSR/iterate", 2, "iterate", 1.25, 1.0, 0.5, exchanged_bytes=2_500_000),
    )
    assert shown("iterate", *data, heads=("compute", "exchange", "exchange hidden", "exchanged", OVER_ITSELF)) == [
        ("1.90 ms", "–", "–", "0 B", "1.00 ×"),
        ("1.00 ms", "500 µs", "50 %", "2.50 MB", "1.60 ×"),
    ]

"""The numbers behind the outlook of the paper, and the printed rates of Figures 6 and 7 next to measured ones."""

from typing import Any

import pytest

from gpu_engine.findings.batched.outlook import devices_text, energy_text, resources_text
from gpu_engine.findings.batched.paper import NAMES, SIMILAR
from gpu_engine.findings.batched.printed_rates import printed_rates
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.overall_ranking import CONTESTS_MIN
from gpu_engine.records import Cache, Measurement
from gpu_engine.text.units import THIN
from tests.samples.batched import MATRICES, copies, multiplied, shown

RATES = {"coo/segmented": 200.0, "csri/warp": 100.0, "csr/smart": 90.0, "ell/thread": 50.0}


def mixture(
    names: tuple[str, ...], device: str = "cuda:0", cache: Cache = "warm", scale: float = 1.0
) -> list[Measurement]:
    axes: dict[str, Any] = {"compose": "mixed", "mixture": f"{len(names)}-{names[0]}", "cache": cache, "device": device}
    return [
        multiplied(kernel, scale * rate, 1000, names[0], environment={"matrices": ", ".join(names)}, **axes)
        for kernel, rate in RATES.items()
    ]


def flexible(rate: float, matrix: str = "west", **fields: Any) -> Measurement:
    return multiplied("auto/flexible", rate, 1000, matrix, **fields)


def test_resources_are_of_warm_batches_of_the_papers_matrices() -> None:
    data = shown(
        *copies(), flexible(150.0), *copies("nos3"), flexible(250.0, "nos3"), *copies("r2"), flexible(9.0, "r2")
    )
    text = resources_text(data).replace(THIN, " ")
    # 1.5 and 2.5 times coo/segmented.
    assert "1.94 × on cuda:0 (2 batches)" in text
    cold = [m.with_(cache="cold") for m in data.measurements]
    noisy = [m.with_(aa_gap=0.5) for m in data.measurements]
    assert [resources_text(StudyData(each, MATRICES)) for each in (cold, noisy, [])] == ["", "", ""]


def test_energy_has_a_sentence_per_device_on_the_papers_matrices() -> None:
    rates = [
        multiplied("coo/segmented", 100.0, 1000, name, device=device, energy_j=5e-3)
        for name in (*SIMILAR[:CONTESTS_MIN], "other")
        for device in ("cuda:0", "cuda:1")
    ]
    data = StudyData(rates)
    text = energy_text(data)
    assert [text.count(part) for part in ("cuda:0", "cuda:1", "0.200 GFLOP/s per watt")] == [1, 1, 4]
    assert devices_text(data).count("0.200 GFLOP/s per watt on cuda:1") == 1
    assert (energy_text(shown(*copies())), devices_text(shown(*copies()))) == ("", "")


@pytest.mark.parametrize(("figure", "names", "ell"), [("Figure 6", SIMILAR, "40"), ("Figure 7", NAMES, "30")])
def test_printed_rates_stand_next_to_those_of_every_device(figure: str, names: tuple[str, ...], ell: str) -> None:
    known = {name: MatrixFeatures(name) for name in NAMES}
    devices = [*mixture(names), *mixture(names, "cuda:1", scale=2.0), *mixture(names, cache="cold", scale=9.0)]
    other = mixture(NAMES if names is SIMILAR else SIMILAR, scale=3.0)
    table = printed_rates(StudyData([*devices, *other], known), figure)
    rows = {row[0]: [cell.replace(THIN, " ") for cell in row[1:]] for row in table.rows}
    assert list(rows) == list(RATES)
    assert rows["ell/thread"][0] == ell
    # 8 MB in 20 µs, and in 10 µs on the other device.
    assert rows["ell/thread"][3:] == ["50.0", "0.25 ×", "400", "100", "0.25 ×", "800"]
    assert rows["coo/segmented"][:2] == ["55", "1.00 ×"]
    assert len(table.heads) == 10
    assert printed_rates(StudyData(mixture(names[1:]), known), figure).rows == ()

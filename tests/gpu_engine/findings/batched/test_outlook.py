"""The numbers behind the outlook of the paper, and the printed rates of Figures 6 and 7 next to measured ones."""

from typing import Any

import pytest

from gpu_engine.findings.batched.outlook import devices_text, energy_text, resources_text
from gpu_engine.findings.batched.paper import NAMES, SIMILAR
from gpu_engine.findings.batched.printed_rates import printed_rates
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Cache, Measurement
from gpu_engine.text.units import THIN
from tests.samples.batched import MATRICES, copies, multiplied, shown

RATES = {"coo/segmented": 200.0, "csri/warp": 100.0, "csr/smart": 90.0, "ell/thread": 50.0}


def mixture(
    names: tuple[str, ...], device: str = "cuda:0", cache: Cache = "warm", scale: float = 1.0
) -> list[Measurement]:
    axes: dict[str, Any] = {"compose": "mixed", "mixture": f"{len(names)}-{names[0]}", "cache": cache, "device": device}
    return [
        multiplied(
            kernel,
            scale * rate,
            1000,
            names[0],
            environment={"matrices": ", ".join(names)},
            stored_bytes=12_000_000,
            **axes,
        )
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


def test_energy_is_relative_to_the_fastest_kernel_of_the_paper() -> None:
    rates = [
        multiplied(kernel, rate, 1000, name, device=device, energy_j=joules)
        for name in (*SIMILAR[:2], "other")
        for device in ("cuda:0", "cuda:1")
        for kernel, rate, joules in (
            ("coo/segmented", 100.0, 5e-3),
            ("csri/warp", 90.0, 1e-3),
            ("auto/flexible", 200.0, 2e-3 if name == SIMILAR[0] else 8e-3),
        )
    ]
    text = energy_text(StudyData(rates)).replace(THIN, " ")
    # 0.4 and 1.6 of coo/segmented, although csri/warp needs less.
    assert [text.count(f"0.80 × on {device} (2 batches)") for device in ("cuda:0", "cuda:1")] == [1, 1]
    assert "auto/flexible 0.250 on cuda:0" in devices_text(StudyData(rates))
    noisy = [m.with_(aa_gap=0.5) for m in rates]
    texts = [(energy_text(data), devices_text(data)) for data in (shown(*copies()), StudyData(noisy))]
    assert texts == [("", ""), ("", "")]


@pytest.mark.parametrize(("figure", "names", "ell"), [("Figure 6", SIMILAR, "40"), ("Figure 7", NAMES, "30")])
def test_printed_rates_stand_next_to_those_of_every_device(figure: str, names: tuple[str, ...], ell: str) -> None:
    known = {name: MatrixFeatures(name) for name in NAMES}
    measured = [*mixture(names), *mixture(names, "cuda:1", scale=2.0), *mixture(names, cache="cold", scale=9.0)]
    other = mixture(NAMES if names is SIMILAR else SIMILAR, scale=3.0)
    table = printed_rates(StudyData([*measured, *other], known), figure)
    rows = {row[:2]: [cell.replace(THIN, " ") for cell in row[2:]] for row in table.rows}
    devices = ("the paper, P100", "cuda:0", "cuda:1")
    assert list(rows) == [(kernel, device) for kernel in RATES for device in devices]
    assert rows["ell/thread", "the paper, P100"][:2] == [ell, "0.73 ×" if names is SIMILAR else "at most 0.55 ×"]
    # 14 MB with padding in 20 µs, and in 10 µs on the other device.
    assert rows["ell/thread", "cuda:0"] == ["50.0", "0.25 ×", "700"]
    assert rows["ell/thread", "cuda:1"] == ["100", "0.25 ×", "1,400"]
    csri = ["50", "0.91 ×"] if names is SIMILAR else ["above 50", "–"]
    assert rows["csri/warp", "the paper, P100"][:2] == csri
    assert rows["coo/segmented", "the paper, P100"][1] == "1.00 ×"
    assert printed_rates(StudyData(mixture(names[1:]), known), figure).rows == ()

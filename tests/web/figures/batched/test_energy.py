import pytest

from gpu_engine.findings.batched.paper import SIMILAR
from gpu_engine.findings.bootstrap import CONTESTS_MIN
from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, multiplied, shown
from tests.samples.formats import titles, traces
from web.figures.batched.energy import MEAN, NO_ENERGY, PANELS_MAX, draw, info, summary, table

BATCHES = [
    multiplied(kernel, rate, 1000, name, energy_j=joules)
    for name in SIMILAR[:CONTESTS_MIN]
    for kernel, rate, joules in (("coo/segmented", 100.0, 5e-3), ("csri/warp", 80.0, 4e-3))
]
DATA = StudyData([*BATCHES, *(m.with_(energy_j=8e-3) for m in mixed("west0989", "nos3"))])


def test_a_kernel_has_a_point_per_batch_and_a_mean_on_both_axes() -> None:
    figure = draw(info(DATA))
    assert len(titles(figure)) == 2
    points = [(p["meta"]["kernel"], p["xaxis"], p["x"][0]) for p in traces(figure, "point") if len(p["x"]) > 1]
    # 10⁶ operations at 4 mJ are 0.25 GFLOP per joule, and 4 µJ for each of 1,000 matrices.
    assert points == [
        ("csri/warp", "x", pytest.approx(0.25)),
        ("csri/warp", "x2", pytest.approx(4.0)),
        ("coo/segmented", "x", pytest.approx(0.2)),
        ("coo/segmented", "x2", pytest.approx(5.0)),
    ]
    means = [mean for mean in traces(figure, "floor") if mean["name"] == MEAN]
    assert [list(mean["x"]) for mean in means[:2]] == [pytest.approx([0.25, 0.2]), pytest.approx([4.0, 5.0])]
    assert list(figure.layout.yaxis.categoryarray) == ["csri/warp", "coo/segmented"]
    assert (figure.layout.xaxis.type, figure.layout.xaxis2.type) == (None, "log")


def test_the_table_marks_the_least_energy_and_the_fastest() -> None:
    rows = [[cell.replace(THIN, " ") for cell in row] for row in table(info(DATA)).rows]
    assert [row[1:] for row in rows[:2]] == [
        ["cuda:0", "warm", "csri/warp", "6", "0.250", "0.250 – 0.250", "4.00 µJ", "320", "yes", ""],
        ["cuda:0", "warm", "coo/segmented", "6", "0.200", "0.200 – 0.200", "5.00 µJ", "500", "", "yes"],
    ]
    # One mixed batch is too few for a verdict.
    assert {tuple(row[-2:]) for row in rows[2:]} == {("", "")}
    text = summary(info(DATA))
    assert "csri/warp needs the least energy. Throughput: 0.250" in text
    assert "The fastest: coo/segmented." in text


def test_noisy_batches_are_drawn_and_not_in_the_means() -> None:
    noisy = StudyData([m.with_(aa_gap=0.5) if m.matrix_id == SIMILAR[0] else m for m in BATCHES])
    figure = draw(info(noisy))
    assert {len(point["x"]) for point in traces(figure, "point")} == {CONTESTS_MIN}
    assert {row[4] for row in table(info(noisy)).rows} == {str(CONTESTS_MIN - 1)}
    every = info(StudyData([m.with_(aa_gap=0.5) for m in BATCHES]))
    assert [list(mean["x"]) for mean in traces(draw(every), "floor")] == [[], []]


def test_more_settings_than_panels_are_in_the_table() -> None:
    several = [multiplied("csr/smart", 1.0, device=f"cuda:{n}", energy_j=1.0) for n in range(PANELS_MAX + 1)]
    settings = info(shown(*several))
    assert (len(titles(draw(settings))), len(table(settings).rows)) == (PANELS_MAX, PANELS_MAX + 1)
    assert f"Showing the first {PANELS_MAX} of {PANELS_MAX + 1}" in summary(settings)


@pytest.mark.parametrize("data", [StudyData(), shown(*copies())])
def test_no_results(data: StudyData) -> None:
    energies = info(data)
    assert (titles(draw(energies)), table(energies).rows, summary(energies)) == ([NO_ENERGY], (), NO_ENERGY)

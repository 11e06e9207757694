"""Marks of times that do not count are gray in the browser, in both themes, and the page fits a phone."""

from dataclasses import replace

import pytest

from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import NOISE_MAX
from server.models import JobState
from tests.browser.conftest import Open, drawn, interactive
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_job
from web.figures.busy import ENTRY

KERNELS = {"csr/scalar": 1e-3, "csr/vector": 8e-4, "coo/segmented": 9e-4, "ellr/thread": 7e-4, "pellr/thread": 6e-4}

FILLS = """(figure) => {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = "var(--line-strong)";
  const gray = getComputedStyle(probe).color;
  const { data } = figure.querySelector(".plot");
  const { calcdata } = figure.querySelector(".plot");
  probe.remove();
  return calcdata.flatMap(([{ trace }, ...rest], place) => {
    const flags = data[place].meta.busy ?? [];
    const color = (n) => (Array.isArray(trace.marker?.color) ? trace.marker.color[n] : trace.marker?.color);
    return flags.map((busy, n) => [busy, color(n) === gray]);
  });
}"""


def measured(matrix: str) -> list[Measurement]:
    return [timed(kernel, time, matrix=matrix, rounds=15) for kernel, time in KERNELS.items()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_of_a_busy_machine_are_gray_and_the_legend_says_so(open_page: Open, lab: Lab, scheme: str) -> None:
    held_up = [replace(m, aa_gap=2 * NOISE_MAX) for m in measured("m2")]
    add_job(lab.database, "j51", "cpu", JobState.SUCCEEDED, [*measured("m1"), *held_up])
    for name in ("roofline", "ratio", "rate"):
        page = open_page(f"/formats?job=j51&view={name}", 1280, scheme)
        figure = interactive(drawn(page.locator(f"#{name}-chart"), ENTRY))
        pairs = figure.evaluate(FILLS)
        assert {tuple(pair) for pair in pairs} <= {(True, True), (False, False)}, name
        assert [True, True] in pairs, name
        assert figure.locator(".legend").get_by_text(ENTRY).count() == 1, name

"""Every page on a wide and a narrow screen, light and dark: nothing sticks out, and nobody is kept out.

A page is opened once for all that is asked of it: most of the time goes into its charts.
"""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from server.models import JobState
from tests.browser.conftest import LIMIT_MS, Open, settle
from tests.samples.formats import study_of
from tests.web.conftest import Lab, add_job, add_study

PATHS = {
    "home": "/",
    "matrices": "/matrices",
    "matrix": "/matrices/m2",
    "formats": "/formats?job=j1",
    "figure": "/formats?job=j1&view=roofline",
    "matrix of a study": "/formats?job=j1&open=m2",
    "graph of a study": "/pagerank?job=j8&open=m2",
    "pagerank": "/pagerank?job=j8",
    "batched": "/batched?job=j6",
    "scaling": "/scaling?job=j7",
    "jobs": "/jobs",
    "job": "/jobs/j4",
    "two jobs": "/jobs/j9/compare?with=j1",
    "measure": "/measure?again=j1",
    "service": "/service",
    "history": "/history?matrix=m1&device=cpu",
    "two devices": "/devices/compare?first=cpu&second=cuda:0",
}

READ = {
    "reduced_spmv": "/reduced_spmv",
    "spmm": "/spmm",
    "seeded": "/seeded",
    "library": "/library",
    "paper": "/papers/pellr",
    "document": "/docs/measuring",
    "glossary": "/glossary",
    "reference": "/reference",
}
"""Pages of text, links and what unfolds."""

REFUSED = {
    "table": "/formats/tables/pivot?job=j1",
    "sign in": "/sign-in?next=/jobs",
    "not found": "/nowhere",
    "no such job": "/jobs/none",
    "no such state": "/formats?cache=hot",
    "no jobs": "/jobs?state=cancelled",
}
"""Pages of few words, most of which say why there is nothing else."""

OTHER_LOOKS = pytest.mark.full("web/static/*", "web/templates/*", "tests/browser/test_every_page.py")
"""A page is as wide in the light as in the dark: the other two are looked at when the pages changed."""

PLOTLY = """performance.getEntriesByType('resource').map((entry) => entry.name)
    .filter((url) => url.includes('plotly'))"""
"""What a page loads only when a figure is made interactive."""

FOCUSABLE = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
    .filter((element) => element.checkVisibility() && !element.disabled)
    .filter((element) => element.type !== 'hidden' && element.tabIndex >= 0)
    .filter((element) => element.type !== 'radio' || element.checked)
    .map((element, place) => (element.dataset.place = `${place}`))"""
"""What Tab must reach. The arrow keys of the browser lead from the chosen one of a row of options to the others."""


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=OTHER_LOOKS),
        pytest.param(390, "light", marks=OTHER_LOOKS),
    ],
)
def test_every_page(lab: Lab, open_page: Open, width: int, scheme: str) -> None:
    for study, job in (("pagerank", "j8"), ("batched", "j6"), ("scaling", "j7")):
        add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    add_job(lab.database, "j9", "cpu", JobState.SUCCEEDED, study_of(lab.matrix))
    faults: dict[str, list[object]] = {}
    for name, path in {**PATHS, **READ, **REFUSED}.items():
        page = open_page(path, width, scheme)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=str(Path(folder, f"{name}-{width}-{scheme}.png")), full_page=True)
        faults[name] = [*wider(page), *page.evaluate(PLOTLY)]
        # The keys go the same way on all screens.
        faults[name] += unreached(page) if name in PATHS and (width, scheme) == (1280, "light") else []
        faults[name] += violations(page)
    assert {name: of_page for name, of_page in faults.items() if of_page} == {}


def wider(page: Page) -> list[object]:
    """By how many pixels the page is wider than the screen, and how many switches are cut, where there are any."""
    beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    cut = page.evaluate("[...document.querySelectorAll('.switch')].filter((s) => s.scrollWidth > s.clientWidth).length")
    return [{"pixels": beyond, "cut": cut}] if beyond or cut else []


def unreached(page: Page) -> list[object]:
    """What can be chosen with a pointer and not with the keyboard."""
    wanted = set(page.evaluate(FOCUSABLE))
    reached: set[str] = set()
    for _ in range(3 * len(wanted) + 10):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place ?? ''"))
        if reached >= wanted:
            return []
    outer = "(m) => m.map((p) => document.querySelector(`[data-place='${p}']`).outerHTML)"
    return list(page.evaluate(outer, list(wanted - reached)))


def violations(page: Page) -> list[object]:
    """What axe-core complains of, with everything unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    expect(page.locator("details > [data-table]:not([data-filled])")).to_have_count(0, timeout=LIMIT_MS)
    settle(page)
    complaints = Axe().run(page).response["violations"]
    return [(violation["id"], node["html"]) for violation in complaints for node in violation["nodes"]]

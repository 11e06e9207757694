"""The page of a matrix in a browser: what is typed changes the answer in place."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gpu_engine.generators import generate
from server.models import JobState
from tests.browser.conftest import Open
from tests.samples.formats import timed
from tests.web.conftest import GPU, Lab, add_job

TIMES = {"csr/vector": 1e-3, "csr/scalar": 2e-3, "coo/segmented": 0.5e-3, "split/tile": 0.9e-3}


SMALL = """() => [...document.querySelectorAll(
    "main :is(button:not(.term, .tools *), summary, input:not([type=hidden]), .switch a, .tabs a)"
)].filter((each) => each.checkVisibility() && each.offsetHeight < 32).map((each) => each.outerHTML.slice(0, 80))"""
"""Targets that are too low for a finger."""


@pytest.fixture
def answered(lab: Lab) -> str:
    """The page of a matrix on which COO pays from 20 SpMVs on."""
    measurements = [timed(kernel, time_s, device=GPU.id, rounds=15) for kernel, time_s in TIMES.items()]
    add_job(lab.database, "j30", GPU.id, JobState.SUCCEEDED, measurements)
    return f"/matrices/{lab.matrix}?device={GPU.id}"


def chosen(page: Page) -> str:
    return page.locator(".kernels .choice th").inner_text()


def test_typing_a_number_changes_sentence_table_and_lines_in_place(answered: str, open_page: Open) -> None:
    page = open_page(f"{answered}&n=5")
    page.evaluate("window.isSame = true")
    expect(page.locator("h1.answer")).to_contain_text("csr/vector")
    field = page.locator("#n")
    field.click()
    field.press("Control+a")
    page.keyboard.type("4000", delay=20)
    page.wait_for_url(re.compile("n=4000"))
    expect(page.locator("h1.answer")).to_contain_text("coo/segmented")
    assert chosen(page) == "coo/segmented"
    expect(page.locator(".lines span.cursor")).to_have_text(re.compile(r"n = 4.?000"))
    assert page.evaluate("window.isSame && document.activeElement.id") == "n"
    field.press("ArrowUp")
    page.wait_for_url(re.compile("n=4001"))
    page.go_back()
    page.wait_for_url(re.compile("n=4000"))
    page.locator("#devices a", has_text="V100").click()
    page.wait_for_url(re.compile("device=V100"))
    expect(page.locator("#n-device")).to_have_value("V100")
    expect(page.locator("#answer .state.predicted")).to_be_visible()
    page.go_back()
    expect(page.locator("h1.answer")).to_contain_text("coo/segmented")
    expect(page.locator("#n-device")).to_have_value(GPU.id)


def test_a_number_out_of_range_is_answered_for_the_nearest_one_with_a_note(answered: str, open_page: Open) -> None:
    page = open_page(f"{answered}&n=5")
    for text, nearest in (("0", "1"), ("2e9", "1000000000")):
        page.locator("#n").fill(text)
        expect(page.locator("#n-note")).to_contain_text(text[0])
        expect(page.locator("#n")).to_have_value(nearest)
    page.locator("#n").fill("1e9")
    expect(page.locator("#n-note")).to_be_empty()
    expect(page.locator("h1.answer")).to_contain_text("1,000,000,000")


def test_typing_iterations_changes_the_answer_for_a_solve_alone(
    lab: Lab, add_matrix: Callable[..., str], open_page: Open
) -> None:
    system = add_matrix(generate("stencil", {"points": 5, "nx": 300, "ny": 300}), "plane", "p1")
    page = open_page(f"/matrices/{system}?device=V100&n=5", 390)
    sentence, first = page.locator("#solve strong"), page.locator("h1.answer").inner_text()
    expect(sentence).to_contain_text("200")
    page.evaluate("window.isSame = true")
    page.locator("#iterations").fill("4000")
    page.wait_for_url(re.compile("n=5&iterations=4000"))
    expect(sentence).to_contain_text("4,000")
    assert page.locator("h1.answer").inner_text() == first
    page.locator("#iterations").fill("2e6")
    expect(page.locator("#n-note")).to_contain_text("2e6")
    expect(page.locator("#iterations")).to_have_value("1000000")
    assert page.evaluate("window.isSame && document.documentElement.scrollWidth <= 390")


def test_on_a_phone_rows_are_cards_within_the_page(answered: str, open_page: Open) -> None:
    page = open_page(answered, 390)
    for details in page.locator("details").all():
        details.evaluate("(each) => { each.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for cell in page.locator(".kernels :is(th, td)").all():
        box = cell.bounding_box()
        assert box is None or box["x"] + box["width"] <= 390
    assert page.evaluate(SMALL) == []

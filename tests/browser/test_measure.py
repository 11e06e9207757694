"""The form of a job in a browser: its settings follow the study and the device, and an earlier job fills it in."""

import re

import pytest
from playwright.sync_api import Page, expect

from gpu_engine.studies import STUDIES
from server.jobs.queue import get_job
from server.models import JobRow
from tests.browser.conftest import LIMIT_MS, Open
from tests.web.conftest import Lab
from web.studies.formats import FORMATS


def choose(page: Page, name: str, value: str) -> None:
    """Chooses an option of a row of options."""
    page.locator(f"label:has(> input[name={name}][value='{value}'])").click()


def queued(page: Page, lab: Lab) -> JobRow:
    """The job that the form makes."""
    page.locator("#measure-button").click()
    page.wait_for_url("**/jobs/*")
    with lab.database.read() as session:
        return get_job(session, page.url.rpartition("/")[2])


def test_several_matrices_with_settings_are_one_job_and_again_another(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/measure?matrix_ids={lab.matrix}")
    choose(page, "study", "batched")
    choose(page, "device", "cpu")
    page.locator(f"#with-{lab.hostile}").check()
    expect(page.locator("#together [data-chosen]")).to_have_text(re.compile("^2 "))
    page.locator("#settings-batched > summary").click()
    # Of the study and the device that are chosen.
    expect(page.get_by_label("Rounds", exact=True)).to_have_count(len(STUDIES))
    expect(page.get_by_label("Rounds", exact=True).locator("visible=true")).to_have_count(1)
    page.locator("#batched-rounds").fill("11")
    page.locator("#batched-batches").fill("7, 30")
    page.locator("#batched-compose--1").uncheck(force=True)
    page.locator("#batched-kernels details > summary").click()
    page.get_by_label("csr/scalar", exact=True).locator("visible=true").check()
    job = queued(page, lab)
    assert (job.study, job.device, job.matrix_ids) == ("batched", "cpu", [lab.matrix, lab.hostile])
    own = {name: job.params[name] for name in ("rounds", "batches", "compose", "kernels")}
    assert own == {"rounds": 11, "batches": [7, 30], "compose": ["mixed"], "kernels": ["csr/scalar"]}

    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("link", name="Run again with …").click()
    page.wait_for_url(f"**/measure?again={job.id}")
    expect(page.locator("#batched-batches")).to_have_value("7, 30")
    page.locator("#batched-rounds").fill("30")
    again = queued(page, lab)
    assert set(again.matrix_ids) == set(job.matrix_ids)
    assert again.params == job.params | {"rounds": 30}


def test_what_a_setting_must_be_is_said_beside_the_button(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/measure?study=batched&device=cpu&matrix_ids={lab.matrix}&rounds=12")
    expect(page.locator("#batched-rounds")).to_have_value("12")
    head, facts = page.locator("#estimate-head"), page.locator("#estimate-facts")
    expect(head).to_contain_text(re.compile(r"Measure .* CPU: about .*Rounds: 12\.", re.DOTALL))
    page.locator("#batched-rounds").fill("30")
    expect(head).to_contain_text("Rounds: 30.", timeout=LIMIT_MS)
    page.locator("#batched-batches").fill("many")
    expect(facts).to_contain_text("batches[0] is", timeout=LIMIT_MS)
    page.locator("#measure-button").click()
    page.locator("form.measure [role=alert]", has_text="batches[0] is").wait_for()
    # Out of its bounds: the browser says so, also where the settings are folded.
    page.locator("#batched-batches").fill("10")
    page.locator("#batched-rounds").fill("3")
    page.locator("#settings-batched > summary").click()
    expect(page.locator("#batched-rounds")).to_be_hidden()
    page.locator("#measure-button").click()
    expect(page.locator("#batched-rounds")).to_be_visible()
    assert page.url.endswith("rounds=12")


def test_a_search_and_presets_choose_matrices_and_kernels(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/measure?matrix_ids={lab.hostile}")
    search = page.get_by_role("searchbox", name="Find among")
    search.fill("CNR")
    # What is selected stays in sight.
    expect(page.locator("#matrix-choices label:visible")).to_have_count(2)
    search.fill("nothing")
    expect(page.locator("#matrix-choices label:visible")).to_have_count(1)
    search.press("Enter")
    assert "/measure?" in page.url
    count = page.locator("#formats-kernels [data-chosen]")
    expect(page.locator("#formats-kernels [aria-pressed=true]")).to_have_text("All")
    cases = page.locator("#estimate-facts dd").first
    before = cases.inner_text()
    preset = page.get_by_role("button", name="Paper")
    preset.focus()
    preset.press("Enter")
    expect(preset).to_have_attribute("aria-pressed", "true")
    expect(count).to_have_text(re.compile(r"^\d+ "))
    expect(cases).not_to_have_text(before, timeout=LIMIT_MS)
    job = queued(page, lab)
    assert job.matrix_ids == [lab.hostile]
    assert job.params["kernels"]
    assert all(FORMATS.of_paper(kernel) for kernel in job.params["kernels"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_fits_a_narrow_screen(lab: Lab, open_page: Open, scheme: str) -> None:
    page = open_page("/measure?again=j1", 390, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_form_has_the_settings_of_one_study(lab: Lab, browser: object, address: str) -> None:
    context = browser.new_context(base_url=address, java_script_enabled=False)  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(f"/measure?matrix_ids={lab.matrix}")
    page.locator("form.measure p.nojs").get_by_role("link", name="Batches").click()
    choose(page, "device", "cpu")
    page.locator("#settings-batched > summary").click()
    page.locator("#batched-rounds").fill("13")
    job = queued(page, lab)
    assert (job.study, job.device, job.matrix_ids, job.params["rounds"]) == ("batched", "cpu", [lab.matrix], 13)
    context.close()


def test_without_a_matrix_the_form_asks_for_one_and_sends_nothing(lab: Lab, open_page: Open) -> None:
    page = open_page("/measure")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.locator("#measure-button").click()
    expect(page.locator("form.measure [role=alert]")).to_have_text(
        page.locator("[data-required]").get_attribute("data-required") or ""
    )
    assert page.evaluate("document.activeElement.name") == "matrix_ids"
    assert sent == []

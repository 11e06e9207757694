"""The form of a job in a browser: its settings follow the study and the device, and an earlier job fills it in."""

import re

import pytest
from playwright.sync_api import Page, expect

from server.jobs.queue import get_job
from server.models import JobRow
from tests.browser.conftest import LIMIT_MS, Open
from tests.web.conftest import Lab


def queued(page: Page, lab: Lab) -> JobRow:
    """The job that the form makes."""
    page.get_by_role("button", name="Measure").click()
    page.wait_for_url("**/jobs/*")
    with lab.database.read() as session:
        return get_job(session, page.url.rpartition("/")[2])


def test_several_matrices_with_settings_are_one_job_and_again_another(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/measure?matrix_ids={lab.matrix}")
    page.locator("#study").select_option("batched")
    page.locator("#device").select_option("cpu")
    page.locator(f"#with-{lab.hostile}").check()
    expect(page.locator("#together > summary")).to_have_text("Matrices (2 selected)")
    page.locator("#settings > summary").click()
    # Of the study and the device that are chosen.
    expect(page.get_by_label("rounds", exact=True)).to_have_count(5)
    expect(page.get_by_label("rounds", exact=True).locator("visible=true")).to_have_count(1)
    page.locator("#batched-rounds").fill("11")
    page.locator("#batched-batches").fill("7, 30")
    page.locator("#batched-compose--1").uncheck()
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
    outlook = page.locator("form.measure [data-duration]:not([hidden])")
    expect(outlook).to_have_text(re.compile("^About .* on cpu.*, with rounds 12.$"))
    page.locator("#batched-rounds").fill("30")
    expect(outlook).to_have_text(re.compile("^About .* on cpu.*, with rounds 30.$"), timeout=LIMIT_MS)
    page.locator("#batched-batches").fill("many")
    expect(outlook).to_contain_text("batches[0] is", timeout=LIMIT_MS)
    page.get_by_role("button", name="Measure").click()
    page.locator("form.measure [role=alert]", has_text="batches[0] is").wait_for()
    # Out of its bounds: the browser says so, also where the settings are folded.
    page.locator("#batched-batches").fill("10")
    page.locator("#batched-rounds").fill("3")
    page.locator("#settings > summary").click()
    expect(page.locator("#batched-rounds")).to_be_hidden()
    page.get_by_role("button", name="Measure").click()
    expect(page.locator("#batched-rounds")).to_be_visible()
    assert page.url.endswith("rounds=12")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_fits_a_narrow_screen(lab: Lab, open_page: Open, scheme: str) -> None:
    page = open_page("/measure?again=j1", 390, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_form_has_the_settings_of_one_study(lab: Lab, browser: object, address: str) -> None:
    context = browser.new_context(base_url=address, java_script_enabled=False)  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(f"/matrices/{lab.matrix}")
    page.locator("#settings > summary").click()
    page.locator("#settings").get_by_role("link", name="batched").click()
    page.locator("#device").select_option("cpu")
    page.locator("#settings > summary").click()
    page.locator("#batched-rounds").fill("13")
    job = queued(page, lab)
    assert (job.study, job.device, job.matrix_ids, job.params["rounds"]) == ("batched", "cpu", [lab.matrix], 13)
    context.close()

"""The page of histories: a choice changes it in place, and back returns."""

from playwright.sync_api import expect

from tests.browser.conftest import Open, drawn
from tests.web.conftest import Lab


def test_the_history_of_another_matrix_is_chosen_and_back_returns(lab: Lab, open_page: Open) -> None:
    page = open_page("/history?matrix=m1&device=cpu")
    heading, matrix = page.locator("#answer .eyebrow"), page.get_by_label("Matrix")
    expect(heading).to_contain_text("cnr-2000")
    matrix.select_option("m2")
    page.wait_for_url("**matrix=m2**")
    expect(heading).to_contain_text("long long")
    page.go_back()
    expect(heading).to_contain_text("cnr-2000")
    expect(matrix).to_have_value("m1")
    page.locator("#kernels > summary").click()
    page.get_by_label("csr/scalar").check()
    page.wait_for_url("**matrix=m1**kernel=csr%2Fscalar")
    drawn(page.locator("#case-history-chart"), "csr/scalar")

"""Which tests are near to a change."""

import pytest

from tests.near import ALWAYS, PAGES, near


@pytest.mark.parametrize(
    ("changed", "among"),
    [
        ("gpu_engine/formats/packed.py", {"tests/gpu_engine/formats/test_contract.py"}),
        ("gpu_engine/formats/packed.cu", {"tests/gpu_engine/formats/test_contract.py"}),
        ("web/figures/formats/wins.py", {"tests/web/figures/formats/test_wins.py"}),
        ("server/turns.py", {"tests/server/test_turns.py"}),
        ("web/templates/job.html", set(PAGES)),
        ("tests/server/test_store.py", {"tests/server/test_store.py"}),
        ("docs/api.md", set()),
    ],
)
def test_folder_name_and_imports_are_near(changed: str, among: set[str]) -> None:
    found = near([changed])
    assert {*among, *ALWAYS} <= set(found)
    assert len(found) < 60
    assert not any(name.startswith("tests/gpu/") for name in found)


def test_a_module_of_a_whole_package_does_not_bring_the_tests_of_the_package() -> None:
    assert "tests/server/test_store.py" not in near(["server/turns.py"])

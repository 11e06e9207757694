"""What a study costs that is added: a handful of files, an entry in two lists, and it is everywhere."""

import subprocess
import sys
from pathlib import Path

from tests.listing import LISTS, WRITTEN

ROOT = Path(__file__).parents[2]
CONTRACTS = (
    "tests/web/transpose_everywhere.py",
    "tests/web/studies",
    "tests/gpu_engine/studies/test_contract.py",
    "tests/gpu_engine/findings/test_contract.py",
    "tests/gpu_engine/sampling/test_sampling_options.py",
)


def test_it_takes_five_files_and_two_lists() -> None:
    assert WRITTEN == ("figure.py", "findings.py", "measuring.py", "page.py", "study.py")
    assert [f"{module}.{name}" for module, name, _, _ in LISTS] == ["gpu_engine.studies.STUDIES", "web.studies.PAGES"]


def test_then_it_is_everywhere_and_keeps_every_contract() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    # A process of its own: routes, choices and schemas are made of the lists when their modules are imported.
    ended = subprocess.run(
        [*command, "-p", "tests.listing", "-k", "transpose", *CONTRACTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout

"""Programs that tests need and PyPI has not: without one a test is skipped, on a build machine (CI=true) it fails."""

import os
from typing import NoReturn

import pytest


def missing(package: str) -> NoReturn:
    """Skip a test whose program is not installed, or fail it on a build machine."""
    sentence = f"{package} is not installed; on Debian and Ubuntu: apt-get install {package}."
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)

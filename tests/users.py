"""Other users of the host, whom only root becomes."""

import os

import pytest

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get("CI"), reason="only root becomes another user, or makes a file theirs"
)
"""In CI they run, and fail for whoever is not root."""

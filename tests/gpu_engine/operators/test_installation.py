"""An operator where parts of the extra `server` are missing."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))
import numpy as np
import scipy.sparse
import sparsight
matrix = scipy.sparse.random(50, 40, 0.1, format="csr", random_state=0)
try:
    product = sparsight.operator(matrix) @ np.ones(40)
    print(np.abs(product - matrix @ np.ones(40)).max())
    from gpu_engine.host.device import list_devices
    list_devices()
except sparsight.UnavailableError as error:
    print(error)
"""


def answers(*missing: str) -> list[str]:
    """What the program prints where these modules cannot be imported."""
    command = [sys.executable, "-c", PROGRAM, *missing]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_matrix_on_the_host_needs_no_nvml_and_gpus_say_what_they_need() -> None:
    difference, refusal = answers("pynvml")
    assert float(difference) < 1e-12
    assert "sparsight[server]" in refusal


def test_without_numba_it_says_what_to_install() -> None:
    (refusal,) = answers("pynvml", "numba")
    assert "sparsight[server]" in refusal

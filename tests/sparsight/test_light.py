"""What `pip install sparsight` alone brings: a client and the command line, and a sentence where a server is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

LIGHT = Path(__file__).with_name("light.py")
MAIN = "from sparsight.cli import main; main()"

CALLS = """
import httpx, numpy, scipy.sparse
from sparsight import AsyncClient, Client, UnavailableError
import gpu_engine.studies.results, sparsight.run

def answer(request):
    request.read()
    return httpx.Response(200, json={"id": "m", "measurements": [], "items": [], "next": None})

transport = httpx.MockTransport(answer)
client = Client("http://test", http=httpx.Client(base_url="http://test", transport=transport))
print(client.upload(scipy.sparse.eye_array(3, format="csr"), directed=True)["id"])
print(client.submit("formats", ["m"])["id"], client.devices())
print([name for name in ("numba", "ray", "fastapi", "sqlalchemy", "plotly") if name in __import__("sys").modules])

from gpu_engine.formats import FORMATS
from gpu_engine.csr_matrix import CsrMatrix
csr = next(f for f in FORMATS if f.name == "csr")
layout = csr.from_csr(CsrMatrix.from_scipy(scipy.sparse.eye_array(3)))
try:
    csr.kernels[0].bound("cpu", layout)(numpy.ones(3), numpy.ones(3))
except UnavailableError as error:
    print(error.message)
"""


def light(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(LIGHT), program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_client_needs_no_server() -> None:
    ended = light(CALLS)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "m",
        "m []",
        "[]",
        "Reading and measuring on this machine requires Numba: pip install 'sparsight[server]'.",
    ]


@pytest.mark.parametrize(("command", "code", "said"), [("--help", 0, "Usage"), ("serve", 1, "'sparsight[server]'")])
def test_the_command_line_says_what_a_server_lacks(command: str, code: int, said: str) -> None:
    ended = light(MAIN, command)
    assert ended.returncode == code
    assert said in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr

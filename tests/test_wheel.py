"""The wheel, installed alone in a fresh environment, works from a folder whose own server.py must not shadow ours."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_engine.recordings import files as recordings
from tests.samples.recording import sample

ROOT = Path(__file__).parent.parent
DOCUMENTS = (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
PACKAGES = ("gpu_engine", "server", "web", "sparsight")
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1\n1 4 2\n3 2 -3\n3 3 0.5\n"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built with the installed hatchling."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("sparsight-*.whl")
    return built


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of an environment with the wheel, in a folder with a decoy of every package."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", with_pip=False)
    programs = folder / "venv" / "bin"
    pip("--python", str(programs / "python"), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    # The dependencies are those of the running environment; a .pth in there is not read a second time.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for decoy in ("server.py", "web.py", "migrations.py"):
        (elsewhere / decoy).write_text("raise SystemExit('the decoy was imported')\n")
    (elsewhere / "a.mtx").write_text(MATRIX)

    def run_program(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SPARSIGHT_HOME": str(folder / "home"), "SPARSIGHT_PORT": "0"}
        command = [str(programs / program), *arguments]
        return subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)

    return run_program


def pip(*arguments: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def shipped(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def test_the_wheel_holds_every_file_of_the_packages_and_the_migrations(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(ROOT).as_posix() for name in PACKAGES for path in (ROOT / name).rglob("*") if shipped(path)
    }
    migrations = {
        f"server/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "migrations").rglob("*") if shipped(path)
    }
    documents = {f"web/documents/{path.relative_to(ROOT).as_posix()}" for path in DOCUMENTS}
    assert migrations
    assert documents <= packed
    assert any(name.endswith(".cu") for name in sources)
    assert (sources | migrations) - packed == set()
    tops = {name.partition("/")[0] for name in packed}
    assert tops == {*PACKAGES, *(top for top in tops if top.endswith(".dist-info"))}


def test_a_recording_is_packed(tmp_path: Path) -> None:
    """A copy of the checkout with a recording in it, whether or not this release brings one."""
    checkout = tmp_path / "checkout"
    for name in (*PACKAGES, "migrations", "docs"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", ".gitignore", *(path.name for path in ROOT.glob("*.md"))):
        shutil.copy(ROOT / name, checkout / name)
    recordings.write(checkout / "gpu_engine" / "recorded" / "made-up" / "formats.json.gz", sample())
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(checkout))
    (built,) = tmp_path.glob("sparsight-*.whl")
    assert "gpu_engine/recorded/made-up/formats.json.gz" in zipfile.ZipFile(built).namelist()


def test_the_installed_packages_are_those_of_the_wheel(run: Run) -> None:
    ended = run("python", "-P", "-c", "import server, sys; print(server.__file__.startswith(sys.prefix))")
    assert ended.stdout.strip() == "True", ended.stderr


def test_what_a_user_writes_is_checked_against_our_types(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from sparsight import Client\n"
        "with Client('http://127.0.0.1:8000') as client:\n"
        "    print(client.job('x')['state'].upper(), client.results('x')['summary']['fastest'][0]['median_s'] * 2)\n"
    )
    python = run("python", "-P", "-c", "import sys; print(sys.executable)").stdout.strip()
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", str(tmp_path)]
    ended = subprocess.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    script.write_text(script.read_text().replace("'state'", "'stat'"))
    ended = subprocess.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'TypedDict "Job" has no key "stat"' in ended.stdout


def test_migrate_and_doctor_run(run: Run) -> None:
    migrated = run("sparsight", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    examined = run("sparsight", "doctor", "--json")
    assert examined.returncode == 0, examined.stdout + examined.stderr
    database = next(check for check in json.loads(examined.stdout) if check["name"] == "Database")
    assert "with 0 jobs" in database["found"]


def test_a_formats_study_runs_without_a_server(run: Run) -> None:
    params = 'rounds=9,energy_s=0,kernels=["csr/scalar"]'
    arguments = ("formats", "a.mtx", "--device", "cpu", "--json", "out.json", "--set", params)
    ended = run("python", "-m", "gpu_engine", *arguments)
    assert ended.returncode == 0, ended.stderr
    read = run("python", "-c", "print(open('out.json').read())")
    measurements = json.loads(read.stdout)["measurements"]
    assert [(m["kernel"], m["cache"], m["state"]) for m in measurements] == [
        ("csr/scalar", cache, "ok") for cache in ("cold", "warm")
    ]

"""The gate: two trees in one process, what is slower in both measurements, its words and its exit codes."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import gpu_engine
from gpu_engine.__main__ import main
from gpu_engine.ab import contest
from gpu_engine.ab.command import MATRICES
from gpu_engine.ab.contest import kernels_of
from gpu_engine.ab.trees import Tree, opened
from gpu_engine.errors import InputError, LayoutTooLargeError, ParameterError
from gpu_engine.generators import find_generator
from gpu_engine.measure import Bench
from gpu_engine.parameters import assignments, parse_params
from gpu_engine.records import Record
from gpu_engine.studies.formats.experiment import Products
from tests.gpu_engine.verdicts.test_verdict import timed

HERE = Path(gpu_engine.__file__).parents[1]
MATRIX = "stencil:points=5,nx=8,ny=8"
SCALAR = Path("gpu_engine", "formats", "csr", "scalar.py")
KERNELS = ("csr/scalar", "csr/vector")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the same source; tests that change it make their own of the one file."""
    folder = tmp_path_factory.mktemp("head")
    shutil.copytree(
        HERE / "gpu_engine", folder / "gpu_engine", ignore=shutil.ignore_patterns("recorded", "__pycache__")
    )
    return folder


@pytest.fixture
def head(copied: Path) -> Iterator[Path]:
    own = (copied / SCALAR).read_text(encoding="utf-8")
    yield copied
    (copied / SCALAR).write_text(own, encoding="utf-8")


def run(monkeypatch: pytest.MonkeyPatch, head: Path, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gpu_engine", "ab", "--base", str(HERE), "--head", str(head), *arguments])
    return main()


def measuring(monkeypatch: pytest.MonkeyPatch, *seconds: Mapping[str, float | None]) -> list[list[str]]:
    """In place of the rounds: each measurement takes the next times of kernels; returns what was measured in each."""
    asked, times = list[list[str]](), iter(seconds)

    def measure(bench: Bench, experiments: Sequence[Products]) -> Iterator[Record]:
        (experiment,), own = experiments, next(times)
        asked.append([case.kernel for case in experiment.cases if case.cache == "warm"])
        for case in experiment.cases:
            time = own.get(case.kernel, 1.0)
            found = timed(time or 1.0, case=case.key, kernel=case.kernel, matrix_id=MATRIX, cache=case.cache)
            yield replace(found, median_s=None, state="failed") if time is None else found

    monkeypatch.setattr(contest, "measure", measure)
    return asked


def test_two_trees_live_beside_each_other_and_beside_this_one(head: Path) -> None:
    (head / SCALAR).write_text((head / SCALAR).read_text(encoding="utf-8") + "\n# other\n", encoding="utf-8")
    with opened(HERE, "base") as base, opened(head, "head") as other:
        assert [f.name.removeprefix("base:") for f in base.formats] == [
            f.name.removeprefix("head:") for f in other.formats
        ]
        products = {
            sys.modules[f.kernels[0].cpu.__module__] for t in (base, other) for f in t.formats if f.kernels[0].cpu
        }
        assert {module.__name__.partition(".")[0] for module in products} == {"gpu_engine_base", "gpu_engine_head"}
        # Nothing reaches across: what a tree imports late is its own.
        assert not any("gpu_engine." in Path(str(module.__file__)).read_text(encoding="utf-8") for module in products)
        assert kernels_of(base, other, "cpu", (), changed=True) == ["csr/scalar"]
        assert kernels_of(base, other, "cuda", (), changed=True) == []
        assert kernels_of(base, other, "cpu", ("csr/vector",), changed=False) == ["csr/vector"]
        with pytest.raises(
            ParameterError, match=r"'csr/none' is not in both trees on cpu\. Common kernels: csr/scalar"
        ):
            kernels_of(base, other, "cpu", ("csr/none",), changed=False)
        refuse_too_large(base)
    assert not [name for name in sys.modules if name.startswith("gpu_engine_")]


def refuse_too_large(tree: Tree) -> None:
    """An error of the copy is ours: it skips the case."""
    error = sys.modules[f"{tree.package}.errors"].LayoutTooLargeError("needs 9 GB")
    f = next(f for f in tree.formats if f.name == "base:ell")

    class Matrix:
        def __getattr__(self, name: str) -> object:
            raise error

    with pytest.raises(LayoutTooLargeError, match="needs 9 GB"):
        f.from_csr(Matrix())  # type: ignore[arg-type]


def test_a_folder_without_an_engine_or_with_a_broken_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no folder gpu_engine/formats"), opened(tmp_path, "head"):
        pass
    broken = tmp_path / "gpu_engine" / "formats"
    broken.mkdir(parents=True)
    (broken.parent / "__init__.py").touch()
    (broken / "__init__.py").write_text("import nowhere_at_all", encoding="utf-8")
    with (
        pytest.raises(InputError, match="cannot be imported: \"No module named 'nowhere_at_all'\""),
        opened(tmp_path, "head"),
    ):
        pass


def test_a_wrong_kernel_of_head_closes_the_gate(
    monkeypatch: pytest.MonkeyPatch, head: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (head / SCALAR).read_text(encoding="utf-8")
    wrong = text + "\n_right = KERNEL.cpu\n\n\ndef _wrong(layout, x, y):\n    _right(layout, x, y)\n    y[0] += 1\n\n\n"
    wrong += "KERNEL = __import__('dataclasses').replace(KERNEL, cpu=_wrong)\n"
    (head / SCALAR).write_text(wrong, encoding="utf-8")
    assert run(monkeypatch, head, "--device", "cpu", "--rounds", "9", "--kernels", "csr/scalar", "--", MATRIX) == 7
    said = capsys.readouterr().out
    assert "\n2 failed.\n" in said
    assert f"| {MATRIX} | `csr/scalar` | warm |" in said


def test_slower_counts_where_a_second_measurement_says_so_too(
    monkeypatch: pytest.MonkeyPatch, copied: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    both = {"head:csr/scalar": 1.1, "head:csr/vector": 1.2}
    asked = measuring(monkeypatch, {**both, "head:ell/thread": 0.5}, {"head:csr/vector": 1.3})
    out = tmp_path / "report.md"
    kernels = ("--kernels", *KERNELS, "ell/thread", "--device", "cpu", "--markdown", str(out), "--", MATRIX)
    assert run(monkeypatch, copied, *kernels) == 7
    every = [f"{side}:{kernel}" for kernel in (*KERNELS, "ell/thread") for side in ("base", "head")]
    assert asked == [every, every[:4]], "what is not suspected is not measured again"
    said = capsys.readouterr().out
    assert "\n2 slower, 2 faster, 2 inconclusive. The worst is `csr/vector` on" in said
    assert "slowdown 1.20 ×" in said
    assert out.read_text(encoding="utf-8") == said


def test_what_is_ambiguous_or_faster_leaves_the_gate_open(
    monkeypatch: pytest.MonkeyPatch, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measuring(monkeypatch, {"head:csr/scalar": 1.1}, {})
    assert run(monkeypatch, copied, "--device", "cpu", "--kernels", *KERNELS, "--", MATRIX) == 0
    said = capsys.readouterr()
    assert "\n2 inconclusive, 2 same.\n" in said.out
    assert "warning: 2 of 4 pairs are inconclusive" in said.err
    measuring(monkeypatch, {"base:csr/scalar": None, "head:csr/vector": 0.5})
    assert run(monkeypatch, copied, "--device", "cpu", "--kernels", *KERNELS, "--", MATRIX) == 0
    assert "2 faster" in capsys.readouterr().out
    measuring(monkeypatch, {"head:csr/scalar": None})
    assert run(monkeypatch, copied, "--device", "cpu", "--kernels", *KERNELS, "--", MATRIX) == 7


def test_the_matrices_that_are_measured_where_none_is_named_can_be_made() -> None:
    for family, _, text in (name.partition(":") for names in MATRICES.values() for name in names):
        params = assignments(find_generator(family).Params, text)
        assert find_generator(family).estimate_nnz(parse_params(find_generator(family).Params, params)) > 0


def test_where_nothing_changed_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, copied, "--device", "cpu", "--changed", "--", MATRIX) == 0
    assert "\nNothing was measured.\n" in capsys.readouterr().out

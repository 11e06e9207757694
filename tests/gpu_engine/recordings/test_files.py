"""Recordings as files: what is written is read back, and nothing that contradicts itself is either."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.csr_matrix import fingerprint
from gpu_engine.errors import InputError, ParameterError, TooLargeError
from gpu_engine.findings.data import StudyData
from gpu_engine.generators import generate
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Case, Details, Trace
from gpu_engine.studies.results import results_document
from tests.samples.recording import GRID, grid, sample

LATER = "2026-12-01T00:00:00+00:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "h200" / "formats.json.gz"


def document(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def spoil(path: Path, change: Callable[[Any], object]) -> None:
    """Writes the sample with one thing changed in its JSON."""
    recordings.write(path, sample())
    found = document(path)
    change(found)
    path.write_bytes(gzip.compress(json.dumps(found).encode()))


def test_what_is_written_is_read_back(path: Path) -> None:
    size = recordings.write(path, sample())
    assert size == path.stat().st_size
    found, given = recordings.read(path), sample()
    assert found == replace(given, matrices=found.matrices)
    for read_back, matrix in zip(found.matrices, given.matrices, strict=True):
        # What is not finite has no number in JSON.
        exponents = {name: value for name, value in read_back.features.items() if name.startswith("power_law")}
        assert read_back == replace(matrix, features={**matrix.features, **exponents})


def test_the_file_is_a_results_document_with_more_beside_it(path: Path) -> None:
    recordings.write(path, sample())
    given = sample()
    data = StudyData(
        given.measurements,
        traces={(m.device, trace.case): trace for trace in given.traces for m in given.measurements[:1]},
    )
    results = results_document(data)
    for said in ("verdicts", "summary"):
        del results[said]
    assert {name: value for name, value in document(path).items() if name in results} == json.loads(json.dumps(results))
    assert document(path).keys() - results.keys() == {"study", "created_at", "device", "profile", "matrices"}


def test_raw_samples_stay_out(path: Path) -> None:
    full = sample()
    sampled = replace(full, measurements=tuple(replace(m, samples_s=(1.0, 2.0)) for m in full.measurements))
    recordings.write(path, sampled)
    assert b"samples_s" not in gzip.decompress(path.read_bytes())
    assert recordings.read(path).measurements == full.measurements


def test_the_same_recording_is_the_same_file(path: Path) -> None:
    recordings.write(path, sample())
    first = path.read_bytes()
    recordings.write(path, sample())
    assert path.read_bytes() == first


def test_a_later_recording_replaces_its_cases_in_their_places_and_adds_its_matrices() -> None:
    first, *others = sample().measurements
    (kept,) = sample().traces
    earlier = replace(sample(), traces=(Trace(first.case, {"step": (1.0,)}), kept))
    known, anew = replace(first, median_s=7.0), Case("new", first.kernel, first.cache)
    added = replace(first, case=anew.key, matrix_id="new", axes={}, median_s=8.0)
    new = replace(earlier.matrices[0], id="new", name="new", fingerprint="f" * 64)
    later = replace(earlier, created_at=LATER, matrices=(new,), measurements=(known, added))
    later = replace(later, traces=(Trace(first.case, {"step": (5.0, 6.0)}), Trace(anew.key, {"step": (8.0,)})))
    found = recordings.joined(earlier, later)
    assert found.created_at == LATER
    assert found.matrices == (*earlier.matrices, new)
    assert found.measurements == (known, *others, added)
    assert kept.case in {m.case for m in others}
    assert found.traces == (kept, *later.traces)
    assert recordings.joined(earlier, replace(later, traces=())).traces == (kept,)


def test_cases_of_a_matrix_that_has_changed_leave_the_recording() -> None:
    earlier = sample()
    first = earlier.measurements[0]
    matrix = next(m for m in earlier.matrices if m.id == first.matrix_id)
    later = replace(earlier, created_at=LATER, matrices=(matrix,), measurements=(first,), traces=())
    same = recordings.joined(earlier, later)
    assert len(same.measurements) == len(earlier.measurements) > 1
    assert same.traces == earlier.traces != ()
    changed = recordings.joined(earlier, replace(later, matrices=(replace(matrix, fingerprint="f" * 64),)))
    assert [m for m in changed.measurements if m.matrix_id == matrix.id] == [first]
    assert {t.case for t in changed.traces} <= {m.case for m in changed.measurements} - {first.case}


def test_a_generated_source_is_the_whole_call(path: Path) -> None:
    source = recordings.generated("stencil", GRID)
    assert source["params"].keys() > GRID.keys()
    assert fingerprint(generate(source["generator"], source["params"])) == grid().fingerprint
    with pytest.raises(ParameterError, match="no generator 'stencils'"):
        recordings.generated("stencils", {})


def test_a_recording_past_the_limit_is_neither_written_nor_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = recordings.write(path, sample())
    monkeypatch.setattr(recordings, "BYTES_MAX", size)
    recordings.read(path)
    monkeypatch.setattr(recordings, "BYTES_MAX", size - 1)
    with pytest.raises(TooLargeError, match=f"has {size} bytes; the limit is {size - 1}"):
        recordings.read(path)
    path.unlink()
    with pytest.raises(TooLargeError):
        recordings.write(path, sample())
    assert not path.exists()


def test_a_small_file_of_a_large_document_is_not_unpacked_further_than_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recordings, "DOCUMENT_MAX", 2**20)
    bomb = gzip.compress(bytes(2**26))
    assert len(bomb) < recordings.BYTES_MAX
    with pytest.raises(TooLargeError, match=f"it, unpacked, has {2**20 + 1} bytes; the limit is {2**20}"):
        recordings.load(bomb, "it")


def test_a_matrix_whose_file_only_its_owner_has_is_recorded_too() -> None:
    given = sample()
    own = replace(given.matrices[0], source=recordings.uploaded("mine.mtx"))
    found = recordings.load(recordings.dump(replace(given, matrices=(own, given.matrices[1])), "it"), "it")
    assert found.matrices[0].source == {"kind": "upload", "filename": "mine.mtx"}


@pytest.mark.parametrize(
    "place", ["h200/format.json.gz", "h200/formats.json", "H200/formats.json.gz", "h 200/formats.json.gz"]
)
def test_device_and_study_are_the_path(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match=r"must be <device>/formats\.json\.gz"):
        recordings.write(tmp_path / place, sample())


def first(recording: Recording, **changes: Any) -> Recording:
    """The recording with its first measurement changed."""
    return replace(recording, measurements=(replace(recording.measurements[0], **changes), *recording.measurements[1:]))


OTHER_CASES = (
    "grid|csr/scalar|cold|devices=2",
    "other|csr/scalar|cold|",
    "grid|csr/other|cold|",
    "grid|csr/scalar|tepid|",
    "grid|",
)
"""None of them is that of the first measurement."""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: replace(r, created_at="yesterday"), "created_at is 'yesterday'"),
        (lambda r: replace(r, created_at="2026-11-20T12:00:00"), "UTC offset"),
        (lambda r: replace(r, study="colours"), "no study 'colours'"),
        (lambda r: replace(r, matrices=r.matrices[:1]), "is not in the recording"),
        (
            lambda r: replace(r, matrices=(*r.matrices, replace(r.matrices[0], id="again"))),
            "2 matrices have the fi",
        ),
        (lambda r: replace(r, matrices=(replace(r.matrices[0], fingerprint="1"), r.matrices[1])), "must be a sha256"),
        (
            lambda r: replace(r, matrices=(replace(r.matrices[0], source={}), r.matrices[1])),
            "must be a generator, a matrix",
        ),
        (lambda r: replace(r, measurements=r.measurements[:8]), "'web' has no measurement"),
        (lambda r: replace(r, measurements=(*r.measurements, r.measurements[0])), "occurs 2 times"),
        (lambda r: first(r, device="cpu"), "measured on 'cpu', not on 'cuda:0'"),
        (lambda r: first(r, median_s=None), "is ok with the time None"),
        (lambda r: first(r, state="failed"), "is failed with the time"),
        (lambda r: first(r, matrix_id="other"), "is not in the recording"),
        (lambda r: first(r, state="unconverged", median_s=None), "is unconverged with the time None"),
        *((lambda r, case=case: first(r, case=case), "from its matrix, kernel") for case in OTHER_CASES),
        (lambda r: first(r, format="ell"), "from its matrix, kernel"),
        (lambda r: first(r, axes={"devices": "2"}), "from its matrix, kernel"),
        (lambda r: first(r, study="pagerank"), "is of the study 'pagerank'"),
        (lambda r: first(r, details=Details()), "has details of another study"),
        (lambda r: replace(r, traces=(replace(r.traces[0], case="x"),)), "has no measurement"),
        (lambda r: replace(r, profile=replace(r.profile, bandwidth=())), "no bandwidth"),
    ],
)
def test_a_recording_that_contradicts_itself_is_not_written(
    path: Path, change: Callable[[Recording], Recording], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        recordings.write(path, change(sample()))
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("device"), "'device' is missing"),
        (lambda d: d.update(matrices=3), "wrong type"),
        (lambda d: d.update(study=["formats"]), "wrong type"),
        (lambda d: d["measurements"][0].update(median_s="fast"), "median_s is 'fast'; expected a finite number"),
        (lambda d: d["measurements"][0].update(state="fine"), "state is 'fine'; expected one of ok, unconverged"),
        (lambda d: d["measurements"][0].update(colour="red"), "There is no parameter 'colour'"),
        (lambda d: d["measurements"][0].pop("details"), "The parameter 'details' is missing"),
        (lambda d: d["measurements"][0].update(details=3), "details is '3'; expected an object"),
        (
            lambda d: d["measurements"][0]["details"].update(colour=1),
            "There is no parameter 'colour'; known: convert_s",
        ),
        (lambda d: d["measurements"][0]["details"].update(convert_s="1"), "convert_s is '1'; expected a finite number"),
        (lambda d: d["measurements"][0].update(axes={"a": 1}), "axes.a is '1'; expected text"),
        (lambda d: d["measurements"][0].update(axes={"a": "1"}), "from its matrix, kernel"),
        (lambda d: d["measurements"][0].update(case="grid|"), "from its matrix, kernel"),
        (lambda d: d["measurements"][0].update(study="pagerank"), "is of the study 'pagerank'"),
        (lambda d: d["measurements"][0].update(samples_s=[1.0]), "has raw samples"),
        (lambda d: d["matrices"][0].update(nnz=1.5), "nnz is '1.5'; expected a whole number"),
        (lambda d: d["matrices"][0]["source"].update(generator="nets"), "no generator 'nets'"),
        (lambda d: d["profile"]["bandwidth"][0].update(copy=None), "copy is 'None'"),
        (lambda d: d["measurements"][0].update(median_s=float("nan")), "NaN is not a JSON number"),
    ],
)
def test_a_spoilt_file_is_refused_with_a_sentence(path: Path, change: Callable[[Any], object], words: str) -> None:
    spoil(path, change)
    with pytest.raises(InputError, match=words):
        recordings.read(path)


@pytest.mark.parametrize("cut", [0, 5, 400, -3])
def test_half_a_file_is_refused(path: Path, cut: int) -> None:
    recordings.write(path, sample())
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match=r"recording h200/formats\.json\.gz (is not gzipped JSON|does not hold)"):
        recordings.read(path)

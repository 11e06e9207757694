import os
import pickle
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import server.store
from gpu_engine.csr_matrix import CsrMatrix, canonical
from gpu_engine.errors import InputError, NotFoundError, UnavailableError
from server.store import FILES, INCOMING, Store, write_matrix
from tests.battery import BATTERY

#  [ 1 . 2 ]
#  [ . . . ]
#  [ . 3 . ]
SMALL = canonical(3, 3, np.array([0, 2, 2, 3]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0]))


def put(store: Store, matrix_id: str, matrix: CsrMatrix = SMALL) -> None:
    with store.stage() as folder:
        write_matrix(folder, matrix, {"spy": [[1]]})
        store.commit(matrix_id, folder)


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "local":
        return Store(str(tmp_path / "matrices"))
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    return Store("memory://matrices")


@pytest.mark.parametrize("name", sorted(BATTERY))
def test_every_matrix_comes_back_bit_by_bit(store: Store, name: str) -> None:
    matrix = BATTERY[name]()
    put(store, "m1", matrix)
    loaded = store.load("m1")
    assert loaded.shape == matrix.shape
    for array in ("indptr", "indices", "values"):
        assert getattr(loaded, array).dtype == getattr(matrix, array).dtype
        assert getattr(loaded, array).tobytes() == getattr(matrix, array).tobytes()


def test_meta_has_the_shape_and_what_was_given(store: Store) -> None:
    put(store, "m1", canonical(2, 4, np.array([0, 1, 3]), np.array([0, 1, 3]), np.ones(3)))
    assert store.meta("m1") == {"n_rows": 2, "n_cols": 4, "nnz": 3, "spy": [[1]]}


def test_a_local_matrix_is_mapped_not_read(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    put(store, "m1")
    assert isinstance(store.load("m1").values.base, np.memmap)
    assert not store.load("m1").values.flags.writeable


def test_what_is_not_committed_leaves_nothing(store: Store) -> None:
    with store.stage() as folder:
        write_matrix(folder, SMALL, {})
    assert not folder.exists()
    assert store.ids() == set()


def test_deleting_twice_is_the_same_as_once(store: Store) -> None:
    put(store, "m1")
    put(store, "m2")
    store.delete("m1")
    store.delete("m1")
    assert store.ids() == {"m2"}
    with pytest.raises(NotFoundError, match="Upload it again"):
        store.load("m1")


def test_sweep_removes_orphans_and_leftovers_only(store: Store) -> None:
    for name in ("m1", "m2", "m3"):
        put(store, name)
    store.fs.makedirs(f"{store.root}/{INCOMING}/half", exist_ok=True)
    store.fs.pipe_file(f"{store.root}/{INCOMING}/half/indptr.npy", b"x")
    assert store.sweep({"m2", "m9"}) == ["m1", "m3"]
    assert store.ids() == {"m2"}
    assert not store.fs.exists(f"{store.root}/{INCOMING}")
    assert store.load("m2").nnz == 3


@pytest.mark.parametrize(
    ("array", "wrong"),
    [
        ("indptr", np.array([0, 2, 2, -1], dtype=np.int32)),
        ("indptr", np.array([0, 3, 2, 3], dtype=np.int32)),
        ("indices", np.array([0, 3, 1], dtype=np.int32)),
        ("indices", np.array([0, -1, 1], dtype=np.int32)),
        ("indices", np.array([0.0, 2.0, 1.0])),
        ("values", np.array([1.0, 2.0])),
    ],
)
def test_arrays_that_are_no_matrix_are_neither_taken_nor_given(
    tmp_path: Path, array: str, wrong: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    store = Store(str(tmp_path))
    with store.stage() as folder:
        write_matrix(folder, SMALL, {})
        np.save(folder / f"{array}.npy", wrong)
        with pytest.raises(InputError):
            store.commit("m1", folder)
    assert store.ids() == set()
    put(store, "m2")
    np.save(tmp_path / "m2" / f"{array}.npy", wrong)
    with pytest.raises(InputError):
        store.load("m2")


@pytest.mark.parametrize("name", ["../m1", "", "a/b", "..", "m\0", "x" * 65])
def test_an_id_never_leaves_the_store(store: Store, name: str) -> None:
    for call in (store.load, store.delete, store.meta):
        with pytest.raises(NotFoundError):
            call(name)


def test_the_files_are_those_that_the_docs_name(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    put(store, "m1")
    assert sorted(path.name for path in (tmp_path / "m1").iterdir()) == sorted(FILES)


@pytest.mark.parametrize("files", range(len(FILES)))
def test_a_remote_matrix_is_none_before_all_its_files_are_there(monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    store = Store("memory://interrupted")
    put_file = store.fs.put_file
    written: list[tuple[str, ...]] = []

    def interrupted(*paths: str) -> None:
        if len(written) == files:
            raise ConnectionError("The connection was lost.")
        written.append(paths)
        put_file(*paths)

    monkeypatch.setattr(store.fs, "put_file", interrupted)
    with pytest.raises(ConnectionError):
        put(store, "m1")
    assert len(written) == files
    with pytest.raises(NotFoundError):
        store.load("m1")
    store.delete("m1")


def test_sizes_are_those_of_the_files(store: Store) -> None:
    put(store, "m1")
    sizes = {name: len(store.open("m1", name).read()) for name in FILES}
    assert {name: store.size("m1", name) for name in FILES} == sizes
    assert store.bytes("m1") >= sum(sizes.values())
    assert store.bytes("m2") == 0


def test_only_a_local_store_has_folders(tmp_path: Path) -> None:
    local, memory = Store(str(tmp_path)), Store("memory://folders")
    for each in (local, memory):
        put(each, "m1")
    assert local.folder("m1") == tmp_path / "m1"
    with pytest.raises(UnavailableError):
        memory.folder("m1")
    memory.delete("m1")


@pytest.mark.parametrize("name", ["x" * 65, "m1/../m1", "m1\n"])
def test_what_only_begins_as_an_id_is_none(store: Store, name: str) -> None:
    put(store, "m1")
    for call in (store.load, store.delete, store.bytes):
        with pytest.raises(NotFoundError, match="Invalid matrix id"):
            call(name)
    put(store, "x" * 64)
    assert store.ids() == {"m1", "x" * 64}


def test_a_matrix_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, steps = Store(str(tmp_path)), list[str]()
    sync, replace = server.store._sync, os.replace

    def synced(path: Path) -> None:
        steps.append(path.name)
        sync(path)

    def replaced(folder: Path, target: str) -> None:
        steps.append("replace")
        replace(folder, target)

    monkeypatch.setattr(server.store, "_sync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    put(store, "m1")
    assert steps == [*FILES, "replace", tmp_path.name]


def test_a_local_matrix_is_staged_on_the_disk_of_the_store(tmp_path: Path) -> None:
    with Store(str(tmp_path)).stage() as folder:
        assert folder.parent == tmp_path / INCOMING


def test_the_folder_of_a_matrix_that_is_not_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="Upload it again"):
        Store(str(tmp_path)).folder("m1")


def test_what_another_process_wrote_is_seen_though_listings_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Store("memory://listed"), Store("memory://listed")
    put(there, "m1")
    listings: dict[tuple[str, bool], Any] = {}
    ls = here.fs.ls
    monkeypatch.setattr(here.fs, "ls", lambda path, detail=True: listings.setdefault((path, detail), ls(path, detail)))
    monkeypatch.setattr(here.fs, "invalidate_cache", lambda *_: listings.clear())
    assert here.ids() == {"m1"}
    put(there, "m2")
    assert here.ids() == {"m1", "m2"}
    assert here.sweep(()) == ["m1", "m2"]


class Trap:
    """Leaves a file where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.mark.parametrize("pickled", ["file", "array"])
def test_nothing_in_a_matrix_is_unpickled(store: Store, tmp_path: Path, pickled: str) -> None:
    trap = tmp_path / "sprung"
    with store.stage() as folder:
        write_matrix(folder, SMALL, {})
        if pickled == "file":
            (folder / "values.npy").write_bytes(pickle.dumps(Trap(trap)))
        else:
            np.save(folder / "values.npy", np.array([Trap(trap)] * 3, dtype=object))
        with pytest.raises(ValueError, match=r"pickle|Python objects"):
            store.commit("m1", folder)
        put(store, "m2")
        store.fs.put_file(str(folder / "values.npy"), f"{store.root}/m2/values.npy")
    with pytest.raises(ValueError, match=r"pickle|Python objects|magic"):
        store.load("m2")
    assert not trap.exists()


def test_a_meta_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_matrix(tmp_path, SMALL, {"features": {"sigma": float("nan")}})

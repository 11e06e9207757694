"""The kernel cache: what decides whether something is compiled again, and what is believed of a file."""

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.cuda.compiler import OPTIONS, Compilation, Compiled, architecture, nvrtc_version
from gpu_engine.cuda.kernel_cache import CODE, NAMES, UNUSED_S, CachedKernel, KernelCache
from gpu_engine.errors import KernelError

TEXT = "template <int N> __global__ void twice(double *y) { y[threadIdx.x] *= N; }"
ASKED = Compilation(TEXT, ("twice<2>", "twice<4>"), "sm_90", OPTIONS, "13.0")

CHANGES: dict[str, Any] = {
    "text": TEXT + " ",
    "instantiations": ("twice<4>", "twice<2>"),
    "arch": "sm_80",
    "options": OPTIONS[:-1],
    "version": "13.1",
}


class Compiler:
    """In place of NVRTC: machine code that says what it was made of."""

    def __init__(self) -> None:
        self.asked: list[Compilation] = []

    def __call__(self, compilation: Compilation) -> Compiled:
        self.asked.append(compilation)
        names = {name: f"_Z{number}" for number, name in enumerate(compilation.instantiations)}
        return Compiled(f"code of {compilation}".encode(), names)


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def cache(tmp_path: Path, compiler: Compiler) -> KernelCache:
    return KernelCache(tmp_path / "home" / "kernels", (), compiler)


def content(kept: CachedKernel) -> tuple[bytes, dict[str, str]]:
    return kept.path.read_bytes(), dict(kept.names)


RIGHT = (f"code of {ASKED}".encode(), {"twice<2>": "_Z0", "twice<4>": "_Z1"})


def test_what_is_kept_is_not_compiled_again(tmp_path: Path, cache: KernelCache, compiler: Compiler) -> None:
    assert cache.find(ASKED) is None
    assert content(cache.get(ASKED)) == content(cache.get(ASKED)) == RIGHT
    other_process = KernelCache(tmp_path / "home" / "kernels", (), compiler)
    assert content(other_process.get(ASKED)) == RIGHT
    assert compiler.asked == [ASKED]


def test_there_is_a_change_of_every_field() -> None:
    assert CHANGES.keys() == {field.name for field in dataclasses.fields(Compilation)}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_code_depends_on_is_compiled_anew(name: str, cache: KernelCache, compiler: Compiler) -> None:
    changed = dataclasses.replace(ASKED, **{name: CHANGES[name]})
    cache.get(ASKED)
    assert cache.get(changed).path.read_bytes() == f"code of {changed}".encode()
    assert content(cache.get(ASKED)) == RIGHT
    assert compiler.asked == [ASKED, changed]


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "code is cut off": (CODE, lambda code: code[:-1]),
    "code is something else": (CODE, lambda _: b"\x7fELF"),
    "names are cut off": (NAMES, lambda names: b"".join(names.splitlines(keepends=True)[:-1])),
    "names are others": (NAMES, lambda names: names.replace(b"_Z1", b"_Z7")),
    "names are empty": (NAMES, lambda _: b""),
    "names are no text": (NAMES, lambda _: b"\xff\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_whole_is_compiled_again(damage: str, cache: KernelCache, compiler: Compiler) -> None:
    ending, change = DAMAGES[damage]
    path = cache.get(ASKED).path.with_suffix(ending)
    path.write_bytes(change(path.read_bytes()))
    assert cache.find(ASKED) is None
    assert content(cache.get(ASKED)) == RIGHT
    assert compiler.asked == [ASKED, ASKED]


@pytest.mark.parametrize("ending", [CODE, NAMES])
def test_files_may_be_deleted_at_any_time(ending: str, cache: KernelCache) -> None:
    cache.get(ASKED).path.with_suffix(ending).unlink()
    assert content(cache.get(ASKED)) == RIGHT


def test_code_of_another_key_under_this_one_is_not_loaded(cache: KernelCache, compiler: Compiler) -> None:
    other = dataclasses.replace(ASKED, instantiations=("twice<2>",))
    kept, foreign = cache.get(ASKED), cache.get(other)
    for ending in (CODE, NAMES):
        kept.path.with_suffix(ending).write_bytes(foreign.path.with_suffix(ending).read_bytes())
    assert content(cache.get(ASKED)) == RIGHT


def test_several_may_write_the_same_at_once(tmp_path: Path, compiler: Compiler) -> None:
    together = threading.Barrier(4)

    def compile_text(compilation: Compilation) -> Compiled:
        together.wait()
        return compiler(compilation)

    cache = KernelCache(tmp_path, (), compile_text)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(cache.get, [ASKED] * 4))
    assert [content(kept) for kept in found] == [RIGHT] * 4
    assert compiler.asked == [ASKED] * 4
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [CODE, NAMES]


def test_what_an_installation_brings_is_taken_and_never_written(tmp_path: Path, compiler: Compiler) -> None:
    brought = tmp_path / "installed"
    KernelCache(brought, (), compiler).get(ASKED)
    cache = KernelCache(tmp_path / "home", (brought,), compiler)
    assert cache.get(ASKED).path.parent == brought
    other = dataclasses.replace(ASKED, arch="sm_80")
    assert cache.get(other).path.parent == tmp_path / "home"
    assert compiler.asked == [ASKED, other]


def test_all_who_may_enter_the_folder_can_read(cache: KernelCache) -> None:
    kept = cache.get(ASKED)
    assert [kept.path.with_suffix(ending).stat().st_mode & 0o777 for ending in (CODE, NAMES)] == [0o644, 0o644]


def test_what_nobody_loads_is_deleted_when_something_else_is_kept(cache: KernelCache) -> None:
    long_ago = time.time() - UNUSED_S - 1
    used, unused = cache.get(ASKED), cache.get(dataclasses.replace(ASKED, arch="sm_80"))
    foreign = used.path.with_name("notes.txt")
    foreign.write_text("mine")
    for path in (*used.path.parent.iterdir(),):
        os.utime(path, (long_ago, long_ago))
    cache.get(ASKED)
    new = cache.get(dataclasses.replace(ASKED, arch="sm_100"))
    left = {kept.path.with_suffix(ending) for kept in (used, new) for ending in (CODE, NAMES)} | {foreign}
    assert set(unused.path.parent.iterdir()) == left


def test_without_a_home_it_says_what_to_set(compiler: Compiler) -> None:
    with pytest.raises(KernelError, match="Set SPARSIGHT_HOME"):
        KernelCache(None, (), compiler).get(ASKED)
    assert compiler.asked == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, compiler: Compiler) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KernelError, match=r"cannot be stored in .*/file/kernels: Not a directory\. Set SPARSIGHT_HOME"):
        KernelCache(tmp_path / "file" / "kernels", (), compiler).get(ASKED)


def test_the_compiler_makes_machine_code_and_says_its_names() -> None:
    made = Compilation(TEXT, ("twice<2>", "twice<4>"), "sm_90").run()
    assert made.cubin.startswith(b"\x7fELF")
    assert made.names == {"twice<2>": "_Z5twiceILi2EEvPd", "twice<4>": "_Z5twiceILi4EEvPd"}


FIRST = """
import threading
from gpu_engine.cuda.compiler import Compilation

together, made = threading.Barrier(8), []

def compile_text():
    asked = Compilation("__global__ void nothing() {}", ("nothing",), "sm_90", (), "13.0")
    together.wait()
    made.append(asked.run().names["nothing"])

threads = [threading.Thread(target=compile_text) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*made)
"""


def test_the_first_compilations_of_a_process_may_be_at_once() -> None:
    ended = subprocess.run([sys.executable, "-P", "-c", FIRST], capture_output=True, text=True, check=False)
    assert (ended.stdout.split(), ended.stderr) == (["_Z7nothingv"] * 8, "")


@pytest.mark.parametrize(
    ("text", "arch", "log"),
    [("\n__global__ void twice(double *y) { z = 1; }", "sm_90", 'identifier "z" is undefined'), (TEXT, "sm_1", "arch")],
)
def test_what_does_not_compile_is_an_error_with_the_log(text: str, arch: str, log: str, tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=rf"does not compile for {arch}: [\s\S]*{log}"):
        KernelCache(tmp_path).get(Compilation(text, ("twice<2>",), arch))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("capability", "arch"), [("9.0", "sm_90"), ("90", "sm_90"), ("10.0", "sm_100"), ("9.5", "sm_90"), ("8.9", "sm_89")]
)
def test_the_architecture_is_the_newest_that_runs_on_the_gpu(capability: str, arch: str) -> None:
    assert architecture(capability) == arch


def test_a_gpu_of_a_generation_that_the_compiler_does_not_know_is_refused() -> None:
    with pytest.raises(KernelError, match=rf"NVRTC {nvrtc_version()} compiles for sm_\d+ to sm_\d+.* is sm_990\. Inst"):
        architecture("99.0")

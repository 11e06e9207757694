"""The test files nearest to what has changed: `python -m tests.near [COMMIT]` prints them, for `make test-near`.

They are what one runs while one works, in a minute or two; what else a change breaks, `make test` finds.
"""

import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from tests.floors import FLOORS, ROOT, imports_of, modules

ALWAYS = ("tests/test_docs.py", "tests/test_imports.py")

PAGES = ("tests/web/test_pages.py", "tests/web/studies/test_page.py")
"""What is near to a template or a script, which no test imports."""


def main() -> int:
    """Prints the files near to all that differs from a commit, else from the last one; returns the exit status."""
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    listed = (["git", "diff", "--name-only", commit, "--"], ["git", "ls-files", "--others", "--exclude-standard"])
    changed = [
        name
        for command in listed
        for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
        if name
    ]
    sys.stdout.write("\n".join(near(changed)) + "\n")
    return 0


def near(changed: Collection[str]) -> list[str]:
    """Return the test files near to these files: of their folder, of their name, and those that import them."""
    known = {name for package in FLOORS for name in modules(package)}
    tests = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    tests = {name: path for name, path in tests.items() if not name.startswith("tests/gpu/")}
    imported = {name: set(imports_of(path, known)) for name, path in tests.items()}
    chosen = {*ALWAYS, *(test for name in changed for test in _near(PurePosixPath(name), tests, imported))}
    return sorted(chosen & tests.keys())


def _near(path: PurePosixPath, tests: Collection[str], imported: dict[str, set[str]]) -> Iterator[str]:
    if path.parts[0] == "tests":
        yield path.as_posix()
        return
    if path.suffix in (".html", ".js", ".css"):
        yield from PAGES
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    folder, own = PurePosixPath("tests", *path.parts[:-1]), f"test_{path.stem}"
    for test in tests:
        # The folder of a whole package has the tests of much else.
        is_beside = len(path.parts) > 2 and PurePosixPath(test).is_relative_to(folder)
        is_named = PurePosixPath(test).is_relative_to(folder) and PurePosixPath(test).stem.startswith(own)
        if is_beside or is_named or module in imported[test]:
            yield test


if __name__ == "__main__":
    sys.exit(main())

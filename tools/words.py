"""Words that the project does not use: `python -m tools.words [PATH…]` counts them by rule, or lists those under paths.

`make check` fails where a rule is broken more often than LIMITS allows: a limit may fall, and never rises.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

LIMITS: dict[str, int] = {}
"""Rule → how often it is still broken."""

VAGUE = frozenset(
    {"found", "said", "own", "told", "kept", "held", "shown", "seen", "asked", "wanted", "taken", "judged", "drawn"}
    | {"counted", "owed"}
)
"""Participles that name nothing."""

FIELDS = frozenset((("gpu_engine/generators/road.py", "kept"), ("sparsight/doctor_check.py", "found")))
"""Fields of the API that are called so: file and name."""

OPENING = re.compile(r"(Those|That|These)\b|Of [a-z]|The same([.,;:]| (as|of|with|from|where|over|again|without)\b)")
"""How a docstring begins that defines nothing."""

UNITS = "nonzero|row|column|thread|warp|block|slice|tile|slot|part|device|problem|entry|page|product|sample|round"

PHRASES = re.compile(
    "|".join(
        (
            r"\bis it alone\b",
            r"\b(is|was) said (here|that)\b",
            r"\bas many as (it|there|are|may)\b",
            r"\bso many (of|bits|problems|pages|links|products|digits|bytes|iterations)\b",
            r"\bonly of an? ",
            r"\bhas to do[.:;,]",
            r"\bin quiet\b",
            r"\b[Nn]othing leads\b",
            r"\bnearest to the fastest\b",
            r"\bdiffers? from itself\b",
            r"(?<![Tt]here )\b(is|are) no (?!longer|more\b)[a-z]",
            r"\b(is|was|were) there already\b",
            r"\bwhoever\b",
            r"\bstands? beside\b",
            r"\bapart by\b",
            r"\blies? apart\b",
            r"\banew\b",
            r"\b(pays|costs) on\b",
            rf"(?<!half )(?<!not )\b[a-z]+s an? ({UNITS})\b(?=[,.;:)]|$)",
        )
    )
)

BRITISH = re.compile(
    r"\b(colour|neighbour|grey|labelled(?!by)|optimis|modelled|behaviour|centre|normalis|recognis)\w*", re.IGNORECASE
)

WORDS_MAX = 25
"""Words of a clause that is read at once."""

WRITTEN_OUT = ("tests/", "migrations/versions", "CHANGELOG.md", "tools/words.py")


@dataclass(frozen=True, slots=True)
class Violation:
    """A place that breaks a rule."""

    rule: str
    file: str
    line: int
    text: str


def main() -> int:
    """Print the counts, or the violations under paths; return 1 if a rule is broken more often than its limit."""
    found = list(violations())
    if paths := tuple(sys.argv[1:]):
        sys.stdout.writelines(f"{v.file}:{v.line}: {v.rule}: {v.text}\n" for v in found if v.file.startswith(paths))
        return 0
    counts = Counter(violation.rule for violation in found)
    for rule in sorted(LIMITS.keys() | counts.keys()):
        most, beyond = LIMITS.get(rule, 0), counts[rule] > LIMITS.get(rule, 0)
        sys.stdout.write(f"{counts[rule]:5} of {most:5} {rule}{': more than before' if beyond else ''}\n")
    return int(any(count > LIMITS.get(rule, 0) for rule, count in counts.items()))


def violations() -> Iterator[Violation]:
    """Yield every violation in the modules, templates and documents of the product."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in listed:
        if name.endswith((".py", ".md", ".html")) and not name.startswith(WRITTEN_OUT) and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            yield from _in_module(name, ast.parse(text)) if name.endswith(".py") else _in_text(name, text)


def _in_text(name: str, text: str) -> Iterator[Violation]:
    kind = name.rpartition(".")[2]
    for line, words in enumerate(text.splitlines(), 1):
        yield from _in_words(kind, name, line, words)


def _in_words(kind: str, name: str, line: int, text: str) -> Iterator[Violation]:
    if PHRASES.search(text):
        yield Violation(f"phrase in {kind}", name, line, text)
    if BRITISH.search(text):
        yield Violation(f"British spelling in {kind}", name, line, text)


def _in_module(name: str, tree: ast.Module) -> Iterator[Violation]:
    docstrings = {id(each.value): each for node in ast.walk(tree) for each in _docstrings(node)}
    for statement in docstrings.values():
        text = str(statement.value.value).strip()  # type: ignore[attr-defined]
        if OPENING.match(text):
            yield Violation("docstring opening", name, statement.lineno, text.split("\n")[0])
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        bound = _bound(node)
        if bound.strip("_").lower() in VAGUE and (name, bound.strip("_").lower()) not in FIELDS:
            yield Violation("name", name, getattr(node, "lineno", 0), bound)
        text = _text(node) if isinstance(node, ast.JoinedStr) or id(node) not in parts | docstrings.keys() else ""
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text.strip():
            yield from _in_words("a string", name, getattr(node, "lineno", 0), text)
            clauses = re.split(r"(?<=[.!?;:])\s", text)
            if " | " not in text and any(len(clause.split()) > WORDS_MAX for clause in clauses):
                yield Violation(f"clause over {WORDS_MAX} words", name, getattr(node, "lineno", 0), text)


def _docstrings(node: ast.AST) -> Iterator[ast.Expr]:
    """Yield the strings that stand alone in a body: docstrings, and what is said below a constant."""
    body = getattr(node, "body", None)
    for each in body if isinstance(body, list) else ():
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
            yield each


def _bound(node: ast.AST) -> str:
    """The name that a node binds; empty for one that binds none."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else ""
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""


def _text(node: ast.AST) -> str:
    """The text of a string, with {} for what is put into it; empty for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    sys.exit(main())

"""The index of the collection: the few matrices that the wheel names, and all of them once the list was fetched."""

import csv
import difflib
import hashlib
import io
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from gpu_engine.errors import NotFoundError, ParameterError, UnavailableError, quote
from server.collection.entries import ID, Entry
from server.paging import Page, decode_cursor, encode_cursor

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).with_name("index.csv")
"""Written by us: what the papers and the recordings say of the matrices that they name."""

STATISTICS = "files/ssstats.csv"
"""Where the collection serves the list of its matrices."""

COLUMNS = 12
"""Group, name, rows, columns, nnz, real, binary, 2D or 3D, posdef, pattern symmetry, numerical symmetry, kind."""

LENGTH_MAX = 129
"""Of the longest name."""

NEAR = 3
"""Names that are offered for one that is not there."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an index comes from; empty for the one of the wheel.

    sha256  of the list as it came, hex; fetched_at: a Time
    """

    address: str = ""
    sha256: str = ""
    fetched_at: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """Entries by id, in the order of ids without regard to case."""

    entries: Mapping[str, Entry]
    origin: Origin = Origin()

    def find(self, name: str) -> Entry | None:
        """The entry of `GROUP/NAME`; raises ParameterError for what cannot be one."""
        if not ID.fullmatch(name):
            expected = f"expected GROUP/NAME, such as HB/bcsstk16.{self._near(name)}"
            raise ParameterError(f"{quote(name)} is not the name of a matrix; {expected}")
        return self.entries.get(name)

    def missing(self, name: str) -> NotFoundError:
        """The error of a name that is not in the index, with names that are near to it."""
        return NotFoundError(f"The collection has no matrix {quote(name)}, as far as is known here.{self._near(name)}")

    def _near(self, name: str) -> str:
        """The names that may have been meant, as a question; nothing where none is near."""
        name = name[:LENGTH_MAX].lower()
        known = {entry_id.lower(): entry_id for entry_id in self.entries}
        alike = [entry.id for entry in self.entries.values() if entry.name.lower() == name.rpartition("/")[2]]
        near = difflib.get_close_matches(name, known, NEAR)
        found = list(dict.fromkeys([*alike, *(known[each] for each in near)]))[:NEAR]
        return f" Did you mean {' or '.join(found)}?" if found else ""


@cache
def shipped() -> Index:
    """The index of the wheel."""
    with SHIPPED.open(encoding="utf-8", newline="") as file:
        return _index((_shipped_entry(row) for row in csv.DictReader(file)), Origin())


def parse_statistics(content: bytes) -> list[Entry]:
    """The entries of the collection's own list; raises UnavailableError for what is no such list.

    Its first line is their number, its second a date; then one row each, by position, and since 2019 one column more:
    the entries with explicit zeros. Rows that are none are left out. Source: the description of the list at
    https://sparse.tamu.edu/statistics.
    """
    rows = list(csv.reader(io.StringIO(content.decode("utf-8", "replace"))))
    found = [entry for row in rows[2:] if (entry := _statistics_entry(row))]
    if not found or not rows[0] or not rows[0][0].strip().isdecimal():
        raise UnavailableError("What came is not the list of the collection; its address answers something else.")
    return found


class Shelf:
    """The index of one home: that of the wheel, and over it the list that was fetched, kept with its checksum."""

    def __init__(self, folder: Path) -> None:
        self._list, self._about = folder / "ssstats.csv", folder / "ssstats.json"
        self._lock = threading.Lock()
        self._known: Index | None = None

    def index(self) -> Index:
        """What is known now; a kept list that is not what was kept counts as none."""
        with self._lock:
            self._known = self._known or self._kept() or shipped()
            return self._known

    def keep(self, content: bytes, address: str, fetched_at: str) -> Index:
        """Takes a fetched list in; raises UnavailableError for what is none, and keeps the one before."""
        origin = Origin(address, hashlib.sha256(content).hexdigest(), fetched_at)
        found = _over_shipped(parse_statistics(content), origin)
        with self._lock:
            self._list.parent.mkdir(parents=True, exist_ok=True)
            for path, data in ((self._list, content), (self._about, json.dumps(asdict(origin)).encode())):
                new = path.with_suffix(".new")
                new.write_bytes(data)
                new.replace(path)
            self._known = found
        return found

    def _kept(self) -> Index | None:
        try:
            content = self._list.read_bytes()
            origin = Origin(**json.loads(self._about.read_bytes()))
            if hashlib.sha256(content).hexdigest() != origin.sha256:
                raise ValueError("its checksum is another")
            return _over_shipped(parse_statistics(content), origin)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, UnavailableError) as error:
            log.warning("the kept list of the collection is not read: %s", error)
            return None


SORTS = ("name", "nnz", "-nnz")


def search(index: Index, q: str, where: Any, sort: str, limit: int, cursor: str | None) -> Page[Entry]:
    """Entries whose id or kind contains `q`, and which `where` takes; without nonzeros last where these order them."""
    if sort not in SORTS:
        raise ParameterError(f"The collection cannot be sorted by {quote(sort)}; known: {', '.join(SORTS)}.")
    text = q.strip().lower()
    found = [e for e in index.entries.values() if (text in e.id.lower() or text in e.kind.lower()) and where(e)]
    if sort != "name":
        sign = -1 if sort == "-nnz" else 1
        found.sort(key=lambda entry: (entry.nnz is None, sign * (entry.nnz or 0)))
    begin = 0
    if cursor is not None:
        order, last = decode_cursor(cursor, 2)
        begin = next((place for place, entry in enumerate(found, 1) if order == sort and entry.id == last), 0)
        if not begin:
            raise ParameterError("The cursor is not one that this list gave; start again without it.")
    page = found[begin : begin + limit]
    more = begin + limit < len(found)
    return Page(page, encode_cursor(sort, page[-1].id) if more else None)


def _index(entries: Iterator[Entry], origin: Origin) -> Index:
    return Index({entry.id: entry for entry in sorted(entries, key=lambda entry: entry.id.lower())}, origin)


def _over_shipped(entries: list[Entry], origin: Origin) -> Index:
    """The fetched entries, and those of the wheel that they lack."""
    return _index(iter(({**shipped().entries} | {entry.id: entry for entry in entries}).values()), origin)


def _shipped_entry(row: dict[str, str]) -> Entry:
    kinds = {field.name: field.type for field in fields(Entry)}
    values: dict[str, Any] = {}
    for name, text in row.items():
        if kinds[name] is str:
            values[name] = text
        elif text:
            values[name] = bool(int(text)) if kinds[name] == bool | None else int(text)
    return Entry(**values)


def _statistics_entry(row: list[str]) -> Entry | None:
    """The entry of a row; None where it is none."""
    if len(row) < COLUMNS or not ID.fullmatch(f"{row[0]}/{row[1]}"):
        return None
    try:
        rows, cols, nnz = (int(text) for text in row[2:5])
        real, binary, _, spd = (bool(int(text)) for text in row[5:9])
        symmetry = float(row[10])
    except ValueError:
        return None
    # The kind may stand before or behind the number of entries.
    rest = [text.strip() for text in row[11:]]
    kind = next((text for text in rest if text and not text.isdecimal()), "")
    entries = next((int(text) for text in rest if text.isdecimal()), None)
    return Entry(row[0], row[1], rows, cols, nnz, entries, real, binary, spd, rows == cols and symmetry == 1.0, kind)

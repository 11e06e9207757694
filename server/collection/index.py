"""Index of the collection: the few matrices in the package, and all matrices after the list was downloaded."""

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
from server.paging import Page, decode_cursor, encode_cursor, invalid_cursor

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).with_name("index.csv")
"""Entries in the package: the matrices that papers and reference results name."""

STATISTICS = "files/ssstats.csv"
"""Path of the list of all matrices on the server of the collection."""

COLUMNS = 12
"""Columns of the list: group, name, rows, columns, nnz, real, binary, 2D or 3D, posdef, pattern symmetry, numerical
symmetry, kind.
"""

LENGTH_MAX = 129
"""Length of the longest name."""

NEAR = 3
"""Maximum number of similar names suggested for an unknown name."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of an index; empty for the one in the package.

    sha256      of the downloaded list, hex
    fetched_at  a Time
    """

    address: str = ""
    sha256: str = ""
    fetched_at: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """Entries by id, in case-insensitive order of ids."""

    entries: Mapping[str, Entry]
    origin: Origin = Origin()

    def find(self, name: str) -> Entry | None:
        """Return the entry of `GROUP/NAME`. Raises ParameterError for an invalid name."""
        if not ID.fullmatch(name):
            expected = f"expected GROUP/NAME, such as HB/bcsstk16.{self._near(name)}"
            raise ParameterError(f"Invalid matrix name {quote(name)}: {expected}")
        return self.entries.get(name)

    def missing(self, name: str) -> NotFoundError:
        """Return the error for an unknown name, with similar names."""
        return NotFoundError(f"Unknown matrix {quote(name)} in the index of the collection.{self._near(name)}")

    def _near(self, name: str) -> str:
        """Return a question with similar names; empty if there are none."""
        name = name[:LENGTH_MAX].lower()
        known = {entry_id.lower(): entry_id for entry_id in self.entries}
        alike = [entry.id for entry in self.entries.values() if entry.name.lower() == name.rpartition("/")[2]]
        near = difflib.get_close_matches(name, known, NEAR)
        suggestions = list(dict.fromkeys([*alike, *(known[each] for each in near)]))[:NEAR]
        return f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""


@cache
def shipped() -> Index:
    """Return the index in the package."""
    with SHIPPED.open(encoding="utf-8", newline="") as file:
        return _index((_shipped_entry(row) for row in csv.DictReader(file)), Origin())


def parse_statistics(content: bytes) -> list[Entry]:
    """Return the entries of the collection's own list. Raises UnavailableError for an invalid list.

    Its first line is the number of entries, its second a date. Then follows one row per entry, by position; since 2019
    it has one more column, the entries with explicit zeros. Invalid rows are skipped. Source: the description of the
    list at https://sparse.tamu.edu/statistics.
    """
    rows = list(csv.reader(io.StringIO(content.decode("utf-8", "replace"))))
    entries = [entry for row in rows[2:] if (entry := _statistics_entry(row))]
    if not entries or not rows[0] or not rows[0][0].strip().isdecimal():
        raise UnavailableError("The downloaded file is not the list of the collection. Check SPARSIGHT_COLLECTION_URL.")
    return entries


class Shelf:
    """Index of one data directory: the one in the package, extended by the downloaded list, which is stored with its
    checksum.
    """

    def __init__(self, folder: Path) -> None:
        self._list, self._about = folder / "ssstats.csv", folder / "ssstats.json"
        self._lock = threading.Lock()
        self._known: Index | None = None

    def index(self) -> Index:
        """Return the current index; a stored list with a wrong checksum is ignored."""
        with self._lock:
            self._known = self._known or self._stored() or shipped()
            return self._known

    def keep(self, content: bytes, address: str, fetched_at: str) -> Index:
        """Store a downloaded list. Raises UnavailableError for an invalid one, and keeps the previous list."""
        origin = Origin(address, hashlib.sha256(content).hexdigest(), fetched_at)
        index = _over_shipped(parse_statistics(content), origin)
        with self._lock:
            self._list.parent.mkdir(parents=True, exist_ok=True)
            for path, data in ((self._list, content), (self._about, json.dumps(asdict(origin)).encode())):
                new = path.with_suffix(".new")
                new.write_bytes(data)
                new.replace(path)
            self._known = index
        return index

    def _stored(self) -> Index | None:
        try:
            content = self._list.read_bytes()
            origin = Origin(**json.loads(self._about.read_bytes()))
            if hashlib.sha256(content).hexdigest() != origin.sha256:
                raise ValueError("wrong checksum")
            return _over_shipped(parse_statistics(content), origin)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, UnavailableError) as error:
            log.warning("cannot read the stored list of the collection: %s", error)
            return None


SORTS = ("name", "nnz", "-nnz")


def search(index: Index, q: str, where: Any, sort: str, limit: int, cursor: str | None) -> Page[Entry]:
    """Return the entries whose id or kind contains `q` and that fulfill `where`. Unknown sizes come last if sorted by
    size.
    """
    if sort not in SORTS:
        raise ParameterError(f"Unknown sort key {quote(sort)}. Use one of {', '.join(SORTS)}.")
    text = q.strip().lower()
    matches = [e for e in index.entries.values() if (text in e.id.lower() or text in e.kind.lower()) and where(e)]
    if sort != "name":
        sign = -1 if sort == "-nnz" else 1
        matches.sort(key=lambda entry: (entry.nnz is None, sign * (entry.nnz or 0)))
    begin = 0
    if cursor is not None:
        order, last = decode_cursor(cursor, 2)
        begin = next((place for place, entry in enumerate(matches, 1) if order == sort and entry.id == last), 0)
        if not begin:
            raise invalid_cursor()
    page = matches[begin : begin + limit]
    more = begin + limit < len(matches)
    return Page(page, encode_cursor(sort, page[-1].id) if more else None)


def _index(entries: Iterator[Entry], origin: Origin) -> Index:
    return Index({entry.id: entry for entry in sorted(entries, key=lambda entry: entry.id.lower())}, origin)


def _over_shipped(entries: list[Entry], origin: Origin) -> Index:
    """Return the downloaded entries, and those of the package that are missing in them."""
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
    """Return the entry of a row, or None for an invalid row."""
    if len(row) < COLUMNS or not ID.fullmatch(f"{row[0]}/{row[1]}"):
        return None
    try:
        rows, cols, nnz = (int(text) for text in row[2:5])
        real, binary, _, spd = (bool(int(text)) for text in row[5:9])
        symmetry = float(row[10])
    except ValueError:
        return None
    # The kind may precede or follow the number of entries.
    rest = [text.strip() for text in row[11:]]
    kind = next((text for text in rest if text and not text.isdecimal()), "")
    entries = next((int(text) for text in rest if text.isdecimal()), None)
    return Entry(row[0], row[1], rows, cols, nnz, entries, real, binary, spd, rows == cols and symmetry == 1.0, kind)

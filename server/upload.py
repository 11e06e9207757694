"""Uploads: write and hash the parts of a multipart/form-data body as they arrive, without buffering them in memory."""

import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from gpu_engine.errors import InputError, ParameterError, quote
from gpu_engine.matrix_io.options import ReadOptions, parse_options

FILE = "file"
OPTIONS = tuple(option.name for option in fields(ReadOptions))
FIELDS = ("name", *OPTIONS)
FIELD_BYTES = 4096
HOW = f"Send multipart/form-data with a part `file` and, optionally, {', '.join(FIELDS)}."


@dataclass(frozen=True)
class Upload:
    """Received file: its path, the sha256 (hex) of its bytes, and the options of the sender."""

    path: Path
    sha256: str
    size: int
    filename: str
    name: str
    options: ReadOptions = field(default_factory=ReadOptions)

    def head(self, most: int) -> bytes:
        """Return at most this many of its first bytes."""
        with self.path.open("rb") as file:
            return file.read(most)


@asynccontextmanager
async def receive(request: Request, folder: Path) -> AsyncIterator[Upload]:
    """Yield the upload in a new file of the folder, deleted after the block unless it was renamed.

    Raises InputError for an invalid body.
    """
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        path = Path(file.name)
        try:
            receiver = _Receiver(request.headers.get("content-type", ""), file)
            try:
                async for chunk in request.stream():
                    await run_in_threadpool(receiver.feed, chunk)
            except ClientDisconnect:
                raise InputError("The upload was interrupted. Send it again.") from None
            yield await run_in_threadpool(receiver.finish, path)
        finally:
            path.unlink(missing_ok=True)


class _Receiver:
    """Parser that writes the part `file` to a file and collects the small parts."""

    def __init__(self, content_type: str, file: IO[bytes]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise ParameterError(f"The body has the type {quote(content_type)}. {HOW}")
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._open,
                    "on_part_data": self._data,
                    "on_end": self._end,
                },
            )
        except FormParserError:
            raise ParameterError(f"The boundary of the body is invalid. {HOW}") from None
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self._fields: dict[str, bytes] = {}
        self._filename: str | None = None
        self._part = ""
        self._header = (b"", b"")
        self._disposition = b""
        self._complete = False

    def feed(self, chunk: bytes) -> None:
        """Parse the next bytes of the body."""
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise ParameterError(f"The body is invalid multipart/form-data. {HOW}") from None

    def finish(self, path: Path) -> Upload:
        """Return the upload after the end of the body."""
        if not self._complete:
            raise ParameterError(f"The body ends before its last boundary. {HOW}")
        if self._filename is None:
            raise ParameterError(f"The body has no part `{FILE}`. {HOW}")
        self._file.flush()
        texts = {name: text.decode(errors="replace") for name, text in self._fields.items()}
        name = texts.pop("name", "")
        return Upload(path, self._digest.hexdigest(), self._size, self._filename, name, parse_options(texts))

    def _begin(self) -> None:
        self._header, self._disposition = (b"", b""), b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        name, value = self._header
        self._header = (name + data[start:end], value)

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        name, value = self._header
        self._header = (name, value + data[start:end])

    def _header_end(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = value
        self._header = (b"", b"")

    def _open(self) -> None:
        """Start a part according to its headers."""
        _, options = parse_options_header(self._disposition)
        self._part = options.get(b"name", b"").decode(errors="replace")
        if self._part not in (FILE, *FIELDS):
            raise ParameterError(f"Unknown part {quote(self._part)}. {HOW}")
        if self._part in self._fields or (self._part == FILE and self._filename is not None):
            raise ParameterError(f"The part {quote(self._part)} occurs twice. {HOW}")
        if self._part == FILE:
            self._filename = options.get(b"filename", b"").decode(errors="replace")
        else:
            self._fields[self._part] = b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        piece = data[start:end]
        if self._part == FILE:
            self._file.write(piece)
            self._digest.update(piece)
            self._size += len(piece)
            return
        self._fields[self._part] += piece
        if len(self._fields[self._part]) > FIELD_BYTES:
            raise ParameterError(f"The part {quote(self._part)} is longer than {FIELD_BYTES} bytes.")

    def _end(self) -> None:
        self._complete = True

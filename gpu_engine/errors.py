"""Errors that Sparsight raises on purpose.

SparsightError
├── InputError                 an input of the caller is invalid
│   ├── MatrixFileError        a matrix file cannot be read; knows the line
│   ├── ParameterError         a parameter of a study, generator or request is out of range
│   ├── UnknownDeviceError     the named device does not exist
│   └── TooLargeError          an input is over a limit
├── NotFoundError              the named resource does not exist
├── ConflictError              the state of the resource forbids the request
├── UnauthorizedError          the caller is unknown
├── ForbiddenError             the caller lacks the role for the request
├── LimitError                 the caller has reached a limit; try again later
├── UnavailableError           a part of the service does not respond; try again later
│   ├── EngineUnavailableError the engine that runs studies does not start
│   └── DiskFullError          a disk of the service is full
├── LayoutTooLargeError        a layout needs more memory than allowed: the case is skipped
├── KernelError                a kernel cannot be compiled or computes a wrong result: the case fails
└── DeviceError                the device failed
    ├── DeviceMemoryError      out of device memory; the process can go on
    ├── HostLostError          devices of a cluster are gone; knows their hosts
    └── DeviceLostError        the device context is broken; the process must end

A message says what was wrong, what was expected, and what to do. It never quotes more than
`QUOTE_LIMIT` characters of an input. If the advice depends on the client (page, CLI), the error has a `hint`,
and each client has a table of advice.
"""

from typing import Any, ClassVar, Literal

QUOTE_LIMIT = 80

Hint = Literal[
    "choose_direction",
    "choose_duplicates",
    "choose_field",
    "choose_header",
    "choose_ids",
    "choose_weights",
    "delete_with_results",
    "fetch_matrix",
    "generate_matrix",
    "list_jobs",
    "list_matrices",
    "send_token",
]
"""Stable names of the advice that a client can give for an error."""


def quote(text: object) -> str:
    """Return a value for an error message: printable, on one line, cut to `QUOTE_LIMIT` characters."""
    quoted = repr(text if isinstance(text, str) else str(text))
    return quoted if len(quoted) <= QUOTE_LIMIT else quoted[: QUOTE_LIMIT - 1] + "…"


def plain(text: str) -> str:
    """Return the text with plain spaces in place of narrow ones, which some terminals omit: `1 MB`."""
    return text.replace("\u202f", " ")


class SparsightError(Exception):
    """Base class of all errors; `code` is a stable name of the kind of error, `hint` of the advice."""

    code: ClassVar[str] = "internal"

    def __init__(self, *message: str, hint: Hint | None = None) -> None:
        super().__init__(*map(plain, message))
        self.hint = hint

    @property
    def message(self) -> str:
        """Sentence that tells the user what happened and what to do."""
        return str(self.args[0]) if self.args else self.code


class InputError(SparsightError):
    """An input of the caller is invalid."""

    code = "invalid_input"


class MatrixFileError(InputError):
    """A matrix file cannot be read; `line` is the 1-based line of the file, or None if no line is at fault."""

    code = "invalid_matrix_file"

    def __init__(self, message: str, line: int | None = None, hint: Hint | None = None) -> None:
        super().__init__(message if line is None else f"Line {line}: {message}", hint=hint)
        self.line = line

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_matrix_file_error, (self.message, self.line, self.hint)


def _restore_matrix_file_error(message: str, line: int | None, hint: Hint | None) -> MatrixFileError:
    """Return an error rebuilt from a pickle; its message already names the line."""
    error = MatrixFileError(message, hint=hint)
    error.line = line
    return error


class ParameterError(InputError):
    """A parameter is unknown or out of range."""

    code = "invalid_parameter"


class UnknownDeviceError(InputError):
    """The named device does not exist, or jobs cannot run on it."""

    code = "unknown_device"


class TooLargeError(InputError):
    """An input exceeds a limit of size or count."""

    code = "too_large"


class NotFoundError(SparsightError):
    """The named resource does not exist."""

    code = "not_found"


class ConflictError(SparsightError):
    """The state of the resource forbids the request."""

    code = "conflict"


class UnauthorizedError(SparsightError):
    """The caller is unknown: the token is missing, wrong, revoked, or expired."""

    code = "unauthorized"


class ForbiddenError(SparsightError):
    """The caller lacks the role for the request."""

    code = "forbidden"


class LimitError(SparsightError):
    """The caller has reached a limit; the request may succeed after `retry_after_s` seconds."""

    code = "limit_reached"

    def __init__(self, *message: str, hint: Hint | None = None, retry_after_s: float = 0.0) -> None:
        super().__init__(*message, hint=hint)
        self.retry_after_s = retry_after_s


class UnavailableError(SparsightError):
    """A part of the service does not respond; the request may succeed later."""

    code = "unavailable"


class EngineUnavailableError(UnavailableError):
    """The engine that runs studies does not start; the message says why."""

    code = "engine_unavailable"


class DiskFullError(UnavailableError):
    """A disk of the service is full; the request succeeds after space is freed."""

    code = "disk_full"

    def __init__(self, message: str = "", hint: Hint | None = None) -> None:
        super().__init__(
            message or "The server's disk is full. Delete matrices, or ask the administrator to free space.", hint=hint
        )


class LayoutTooLargeError(SparsightError):
    """A layout needs more memory than allowed; raised before anything is allocated."""

    code = "layout_too_large"


class KernelError(SparsightError):
    """A kernel does not compile, or its result is wrong."""

    code = "kernel_failed"


class DeviceError(SparsightError):
    """The device failed."""

    code = "device_failed"


class DeviceMemoryError(DeviceError):
    """The device has too little free memory; the process can continue."""

    code = "out_of_device_memory"


class HostLostError(DeviceError):
    """Devices of a cluster are lost or do not respond.

    hosts   names of the hosts of these devices
    places  device slots that are lost; empty if the devices only do not respond
    reason  the sentence that reports the cause
    """

    code = "host_lost"

    def __init__(
        self, message: str, hosts: tuple[str, ...] = (), places: tuple[Any, ...] = (), reason: str = ""
    ) -> None:
        super().__init__(message)
        self.hosts, self.places, self.reason = hosts, places, reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.hosts, self.places, self.reason)


class DeviceLostError(DeviceError):
    """The device context is broken (an illegal access, a failed launch); the process must end."""

    code = "device_lost"

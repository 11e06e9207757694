"""Every error that Sparsight raises on purpose.

SparsightError
├── InputError                 what the caller brought is wrong
│   ├── MatrixFileError        a matrix file cannot be read; knows the line
│   ├── ParameterError         a parameter of a study, generator or request is out of range
│   ├── UnknownDeviceError     the named device is not here
│   └── TooLargeError          an input is over a limit
├── NotFoundError              the named resource does not exist
├── ConflictError              the resource's state forbids the call
├── UnauthorizedError          nobody knows who calls
├── ForbiddenError             whoever calls may not make this call
├── LimitError                 whoever calls has had as much as is allowed for now; try again later
├── UnavailableError           a part of the service does not answer; try again later
│   ├── EngineUnavailableError the engine that runs studies does not start
│   └── DiskFullError          a disk of the service is full
├── LayoutTooLargeError        a layout needs more memory than allowed: the case is skipped
├── KernelError                a kernel cannot be compiled or computes a wrong result: the case fails
└── DeviceError                the device failed
    ├── DeviceMemoryError      out of device memory; the process can go on
    ├── HostLostError          devices of a cluster are gone; knows their hosts
    └── DeviceLostError        the device context is broken; the process must end

A message says what was wrong, what was expected and what to do, and never quotes more than
`QUOTE_LIMIT` characters of an input. Where the words for what to do depend on the tool in hand, the error has a `hint`,
and each tool has a table of its own words.
"""

import re
from typing import Any, ClassVar, Literal

QUOTE_LIMIT = 80
GROUP = re.compile("(?<=[0-9])\u202f(?=[0-9]{3})")
"""The narrow space between groups of three digits."""

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
"""The name of what to do; stable, for programs."""


def quote(text: object) -> str:
    """The value as an error message may show it: printable, on one line, cut to `QUOTE_LIMIT` characters."""
    shown = repr(text if isinstance(text, str) else str(text))
    return shown if len(shown) <= QUOTE_LIMIT else shown[: QUOTE_LIMIT - 1] + "…"


def plain(text: str) -> str:
    """Return the text with `16,384` and `1 MB` where pages have narrow spaces, which some terminals leave out."""
    return GROUP.sub(",", text).replace("\u202f", " ")


class SparsightError(Exception):
    """The root of the tree; `code` is stable and names the kind of error to programs, `hint` what to do."""

    code: ClassVar[str] = "internal"

    def __init__(self, *message: str, hint: Hint | None = None) -> None:
        super().__init__(*map(plain, message))
        self.hint = hint

    @property
    def message(self) -> str:
        """The sentence a person can act on."""
        return str(self.args[0]) if self.args else self.code


class InputError(SparsightError):
    """What the caller brought is wrong."""

    code = "invalid_input"


class MatrixFileError(InputError):
    """A matrix file cannot be read; `line` is the 1-based line of the file, or None where no line is at fault."""

    code = "invalid_matrix_file"

    def __init__(self, message: str, line: int | None = None, hint: Hint | None = None) -> None:
        super().__init__(message if line is None else f"Line {line}: {message}", hint=hint)
        self.line = line

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_matrix_file_error, (self.message, self.line, self.hint)


def _restore_matrix_file_error(message: str, line: int | None, hint: Hint | None) -> MatrixFileError:
    """Rebuilds a pickled error, whose message already names the line."""
    error = MatrixFileError(message, hint=hint)
    error.line = line
    return error


class ParameterError(InputError):
    """A parameter is unknown or out of range."""

    code = "invalid_parameter"


class UnknownDeviceError(InputError):
    """The named device is not one that this service can measure on."""

    code = "unknown_device"


class TooLargeError(InputError):
    """An input is over a limit of size or count."""

    code = "too_large"


class NotFoundError(SparsightError):
    """The named resource does not exist."""

    code = "not_found"


class ConflictError(SparsightError):
    """The state of the resource forbids the call."""

    code = "conflict"


class UnauthorizedError(SparsightError):
    """Nobody knows who calls: a token is missing, wrong, revoked or over."""

    code = "unauthorized"


class ForbiddenError(SparsightError):
    """Whoever calls may not make this call."""

    code = "forbidden"


class LimitError(SparsightError):
    """Whoever calls has had as much as is allowed for now; the same call may go through after `retry_after_s`."""

    code = "limit_reached"

    def __init__(self, *message: str, hint: Hint | None = None, retry_after_s: float = 0.0) -> None:
        super().__init__(*message, hint=hint)
        self.retry_after_s = retry_after_s


class UnavailableError(SparsightError):
    """A part of the service does not answer now; the same call may go through later."""

    code = "unavailable"


class EngineUnavailableError(UnavailableError):
    """The engine that runs studies does not start; the message says why."""

    code = "engine_unavailable"


class DiskFullError(UnavailableError):
    """A disk of the service is full; the same call goes through once there is room."""

    code = "disk_full"

    def __init__(self, message: str = "", hint: Hint | None = None) -> None:
        super().__init__(
            message or "The server's disk is full. Delete matrices, or have its administrator make room.", hint=hint
        )


class LayoutTooLargeError(SparsightError):
    """A layout needs more memory than is allowed; found before anything is allocated."""

    code = "layout_too_large"


class KernelError(SparsightError):
    """A kernel does not compile, or its result is wrong."""

    code = "kernel_failed"


class DeviceError(SparsightError):
    """The device failed."""

    code = "device_failed"


class DeviceMemoryError(DeviceError):
    """The device has too little free memory; nothing else is harmed."""

    code = "out_of_device_memory"


class HostLostError(DeviceError):
    """Devices of a cluster are gone, or do not answer.

    hosts   names of those that the devices belonged to
    places  of the devices that are gone; none where they only do not answer
    reason  the sentence by which that became known
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

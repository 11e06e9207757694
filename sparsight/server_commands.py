"""Commands `sparsight devices`, `kernels`, and `studies`: what a running server can measure."""

from typing import Annotated, Any

import typer

from gpu_engine.errors import NotFoundError, quote
from server.documents import Device, FormatKernel, StorageFormat
from sparsight.paged_output import print_list
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    out,
    print_hidden_columns,
    print_json,
    print_pairs,
    print_status,
    print_table,
)

DEVICES: tuple[Column[Device], ...] = (
    Column("device", lambda device: device["id"]),
    Column("name", lambda device: device["name"], is_name=True),
    Column("state", lambda device: _state(device)),
    Column("memory", lambda device: _size(device["memory_bytes"], 30, "GiB"), right=True),
    Column("copy bandwidth", lambda device: _copy_bandwidth(device), right=True),
    Column("cache", lambda device: _size(device["cache_bytes"], 20, "MiB"), right=True),
)
KERNELS: tuple[Column[tuple[FormatKernel, StorageFormat]], ...] = (
    Column("kernel", lambda entry: entry[0]["name"]),
    Column("runs on", lambda entry: ", ".join(entry[0]["backends"])),
    Column("format", lambda entry: entry[1]["title"]),
    Column("method", lambda entry: entry[0]["summary"]),
)


def devices(server: Server = None, as_json: AsJson = False) -> None:
    """List the devices that run jobs, and those with reference results."""
    with connect(server) as client:
        documents = client.devices()
    print_list(
        documents,
        0,
        DEVICES,
        "No device available. Start a worker on the host of the server: `sparsight worker`.",
        as_json,
    )
    for fault in dict.fromkeys(device["fault"] for device in documents if device.get("fault")):
        print_status(str(fault))


def kernels(server: Server = None, as_json: AsJson = False) -> None:
    """List the storage formats and their kernels."""
    with connect(server) as client:
        formats = client.formats()
    if as_json:
        print_json(formats)
        return
    entries = [(kernel, entry) for entry in formats for kernel in entry["kernels"]]
    print_hidden_columns(print_table(out(), KERNELS, entries), "--json")


def studies(
    study: Annotated[str, typer.Argument(help="Study whose parameters are listed.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List the studies, or the parameters of one study with their defaults."""
    with connect(server) as client:
        known = {entry["name"]: entry for entry in client.studies()}
    if study and study not in known:
        raise NotFoundError(f"Unknown study {quote(study)}. Available studies: {', '.join(known)}.")
    if as_json:
        print_json(known[study] if study else list(known.values()))
    elif study:
        fields = known[study]["params"]["properties"]
        print_pairs(out(), {f"{name}={_default(field)}": _description(field) for name, field in fields.items()})
    else:
        print_pairs(out(), {name: entry["question"] for name, entry in known.items()})


def _size(size: int | None, exponent: int, unit: str) -> str:
    """Return a size as a multiple of 2 to the power of `exponent`; empty if unknown."""
    return "" if size is None else f"{size / 2**exponent:.0f} {unit}"


def _state(device: Device) -> str:
    if device["recorded"]:
        return "reference results"
    if device.get("fault"):
        return "faulty"
    return "available" if device["alive"] else "unavailable"


def _copy_bandwidth(device: Device) -> str:
    """Return the measured copy bandwidth in GB/s; empty if it was not measured."""
    return f"{device['profile']['bandwidth'][-1]['copy'] / 1e9:,.0f} GB/s" if device["profile"] else ""


def _description(field: dict[str, Any]) -> str:
    """Return the description of a parameter, with its allowed values or bounds."""
    text, value = str(field["description"]), field.get("items", field)
    if "enum" in value:
        return f"{text} One of: {', '.join(value['enum'])}."
    bounded = {"minimum", "maximum"} <= value.keys()
    return f"{text} From {value['minimum']:,} to {value['maximum']:,}." if bounded else text


def _default(field: dict[str, Any]) -> str:
    """Return the default of a parameter in the form that `--set` accepts."""
    value = field.get("default", "")
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

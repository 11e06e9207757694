"""`sparsight devices`, `kernels` and `studies`: what a running server offers."""

from typing import Annotated, Any

import typer

from gpu_engine.errors import NotFoundError, quote
from server.documents import Device, FormatKernel, StorageFormat
from sparsight.lists import print_list
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    out,
    print_json,
    print_pairs,
    print_table,
    say,
    say_left_out,
)

DEVICES: tuple[Column[Device], ...] = (
    Column("device", lambda device: device["id"]),
    Column("name", lambda device: device["name"], is_name=True),
    Column("state", lambda device: _state(device)),
    Column("memory", lambda device: _size(device["memory_bytes"], 30, "GiB"), right=True),
    Column("copies", lambda device: _copy_rate(device), right=True),
    Column("cache", lambda device: _size(device["cache_bytes"], 20, "MiB"), right=True),
)
KERNELS: tuple[Column[tuple[FormatKernel, StorageFormat]], ...] = (
    Column("kernel", lambda entry: entry[0]["name"]),
    Column("runs on", lambda entry: ", ".join(entry[0]["backends"])),
    Column("format", lambda entry: entry[1]["title"]),
    Column("how", lambda entry: entry[0]["summary"]),
)


def devices(server: Server = None, as_json: AsJson = False) -> None:
    """List what can be measured on, and devices with recorded results."""
    with connect(server) as client:
        listed = client.devices()
    print_list(listed, 0, DEVICES, "No worker has offered a device yet; start one.", as_json)
    for fault in dict.fromkeys(device["fault"] for device in listed if device.get("fault")):
        say(str(fault))


def kernels(server: Server = None, as_json: AsJson = False) -> None:
    """List the storage formats and their kernels."""
    with connect(server) as client:
        formats = client.formats()
    if as_json:
        print_json(formats)
        return
    entries = [(kernel, entry) for entry in formats for kernel in entry["kernels"]]
    say_left_out(print_table(out(), KERNELS, entries), "--json")


def studies(
    study: Annotated[str, typer.Argument(help="Show the parameters of this one.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List what can be studied, or the parameters of one study with their defaults."""
    with connect(server) as client:
        known = {entry["name"]: entry for entry in client.studies()}
    if study and study not in known:
        raise NotFoundError(f"There is no study {quote(study)}; known studies: {', '.join(known)}.")
    if as_json:
        print_json(known[study] if study else list(known.values()))
    elif study:
        fields = known[study]["params"]["properties"]
        print_pairs(out(), {f"{name}={_default(field)}": _meaning(field) for name, field in fields.items()})
    else:
        print_pairs(out(), {name: entry["question"] for name, entry in known.items()})


def _size(size: int | None, exponent: int, unit: str) -> str:
    """In multiples of a power of two; empty where nobody has said."""
    return "" if size is None else f"{size / 2**exponent:.0f} {unit}"


def _state(device: Device) -> str:
    if device["recorded"]:
        return "recorded"
    if device.get("fault"):
        return "faulty"
    return "ready" if device["alive"] else "away"


def _copy_rate(device: Device) -> str:
    """GB/s of copies in memory, which floors divide by; empty where they were not measured."""
    return f"{device['profile']['bandwidth'][-1]['copy'] / 1e9:,.0f} GB/s" if device["profile"] else ""


def _meaning(field: dict[str, Any]) -> str:
    """What a parameter is, with the values that it takes where they are few, or their bounds."""
    text, value = str(field["description"]), field.get("items", field)
    if "enum" in value:
        return f"{text} One of: {', '.join(value['enum'])}."
    bounded = {"minimum", "maximum"} <= value.keys()
    return f"{text} From {value['minimum']:,} to {value['maximum']:,}." if bounded else text


def _default(field: dict[str, Any]) -> str:
    """The default of a parameter as `--set` takes it."""
    value = field.get("default", "")
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

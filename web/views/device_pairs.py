"""`/devices/compare`: comparison of two devices by kernel and by matrix; each device has its own ranking."""

from collections.abc import Mapping
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.formats.device_pairs import pair
from gpu_engine.records import CACHES
from server.result_sources import find_sources
from web.components import Choice, Choices, Link, LinkSwitch
from web.contexts import DevicePairPage
from web.results import CACHE_DEFAULT, device_names, results_of
from web.selection import Selection
from web.studies.formats import FORMATS

OPTIONS = ("first", "second", "cache")


def page(session: Session, options: Mapping[str, str]) -> DevicePairPage:
    """Return the comparison of two devices; raises ParameterError for a device without formats results."""
    names = device_names(session)
    known = find_sources(session, FORMATS.name).devices
    chosen = [options["first"], options["second"]]
    for side, device in zip(OPTIONS, chosen, strict=False):
        if device and device not in known:
            there = ", ".join(known) or "none"
            raise ParameterError(
                f"{side} is {quote(device)}, which has no formats results. Devices with some: {there}."
            )
    cache = options["cache"] or CACHE_DEFAULT
    if cache not in CACHES:
        raise ParameterError(f"cache is {quote(cache)}. Choose one of {', '.join(CACHES)}.")
    first, second = _chosen(chosen, known)
    selected = results_of(session, FORMATS.name, Selection(device=(first, second), cache=(cache,)))
    comparison = pair(selected.data, names.get(first, first), names.get(second, second), cache)
    view = {"first": first, "second": second}
    return DevicePairPage(
        title="Compare two devices",
        topics="",
        sides=(_side("first", first, known, names), _side("second", second, known, names)),
        cache=cache,
        caches=LinkSwitch("Cache", tuple(Link(each, _url(view | {"cache": each}), each == cache) for each in CACHES)),
        swap=Link("swap devices", _url({"first": second, "second": first, "cache": cache})),
        sentences=comparison.sentences,
        kernels=comparison.kernels,
        matrices=comparison.by_matrix,
    )


def _chosen(chosen: list[str], known: tuple[str, ...]) -> tuple[str, str]:
    """Return the chosen devices; the first remaining device replaces a missing choice."""
    rest = [device for device in known if device not in chosen]
    first = chosen[0] or (rest.pop(0) if rest else "")
    return first, chosen[1] or (rest.pop(0) if rest else "")


def _side(name: str, current: str, known: tuple[str, ...], names: Mapping[str, str]) -> Choices:
    options = tuple(Choice(device, names.get(device, device), device == current) for device in known)
    return Choices(f"side-{name}", name, name.capitalize(), options)


def _url(options: Mapping[str, str]) -> str:
    return f"/devices/compare?{urlencode(options)}"

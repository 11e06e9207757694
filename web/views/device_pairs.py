"""`/devices/compare`: two devices side by side, kernel by kernel and matrix by matrix; they are ranked apart."""

from collections.abc import Mapping
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.formats.device_pairs import pair
from gpu_engine.records import CACHES
from server.result_sources import find_sources
from web.contexts import DevicePairPage
from web.parts import Choice, Choices, Link, LinkSwitch
from web.results import CACHE_DEFAULT, device_names, results_of
from web.selection import Selection
from web.studies.formats import FORMATS

OPTIONS = ("start_segments", "second", "cache")


def page(session: Session, options: Mapping[str, str]) -> DevicePairPage:
    """What the second device gains over the first; raises ParameterError for a device without results of formats."""
    names = device_names(session)
    known = find_sources(session, FORMATS.name).devices
    chosen = [options["start_segments"], options["second"]]
    for side, device in zip(OPTIONS, chosen, strict=False):
        if device and device not in known:
            there = ", ".join(known) or "no device"
            raise ParameterError(f"{side} is {quote(device)}, which has no results of formats; {there} has.")
    cache = options["cache"] or CACHE_DEFAULT
    if cache not in CACHES:
        raise ParameterError(f"cache is {quote(cache)}; it must be one of {', '.join(CACHES)}.")
    first, second = _chosen(chosen, known)
    seen = results_of(session, FORMATS.name, Selection(device=(first, second), cache=(cache,)))
    found = pair(seen.data, names.get(first, first), names.get(second, second), cache)
    view = {"start_segments": first, "second": second}
    return DevicePairPage(
        title="Two devices",
        topics="",
        sides=(_side("start_segments", first, known, names), _side("second", second, known, names)),
        cache=cache,
        caches=LinkSwitch("Cache", tuple(Link(each, _url(view | {"cache": each}), each == cache) for each in CACHES)),
        swap=Link("the other way round", _url({"start_segments": second, "second": first, "cache": cache})),
        sentences=found.sentences,
        kernels=found.kernels,
        matrices=found.by_matrix,
    )


def _chosen(wanted: list[str], known: tuple[str, ...]) -> tuple[str, str]:
    """The devices asked for, and in place of one that is not the first one that is left."""
    rest = [device for device in known if device not in wanted]
    first = wanted[0] or (rest.pop(0) if rest else "")
    return first, wanted[1] or (rest.pop(0) if rest else "")


def _side(name: str, current: str, known: tuple[str, ...], names: Mapping[str, str]) -> Choices:
    options = tuple(Choice(device, names.get(device, device), device == current) for device in known)
    return Choices(f"side-{name}", name, name.capitalize(), options)


def _url(options: Mapping[str, str]) -> str:
    return f"/devices/compare?{urlencode(options)}"

"""`/devices/compare`: comparison of two devices by kernel and by matrix; each device has its own ranking."""

import math
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.findings.formats.device_pairs import pair
from gpu_engine.records import CACHES, profile_from_json
from server import recorded_results
from server.devices import list_devices
from server.models import DeviceRow
from server.result_sources import find_sources, measured_matrices
from web.components import Choice, Choices, Link, LinkSwitch
from web.contexts import DevicePairPage
from web.device_labels import short
from web.plots.device_pair import device_pair_dots
from web.results import CACHE_DEFAULT, device_names, results_of
from web.selection import Selection, choice_error
from web.studies.formats import FORMATS

OPTIONS = ("first", "second", "cache")

TOO_FEW = "No two devices have results of the study formats."


def page(session: Session, options: Mapping[str, str]) -> DevicePairPage:
    """Return the comparison of two devices; raises ParameterError for a device without formats results."""
    names = device_names(session)
    known = find_sources(session, FORMATS.name).devices
    chosen = [options["first"], options["second"]]
    for side, device in zip(OPTIONS, chosen, strict=False):
        if device and device not in known:
            raise choice_error(side, device, {each: short(names.get(each, each)) for each in known})
    cache = options["cache"] or CACHE_DEFAULT
    if cache not in CACHES:
        raise choice_error("cache", cache, dict.fromkeys(CACHES, ""))
    first, second = _chosen(session, chosen, known)
    selected = results_of(session, FORMATS.name, Selection(device=tuple(filter(None, (first, second))), cache=(cache,)))
    comparison = pair(selected.data, names.get(first, first), names.get(second, second), cache)
    comparison = replace(comparison, first=short(comparison.first), second=short(comparison.second))
    view = {"first": first, "second": second}
    return DevicePairPage(
        title="Compare two devices",
        topics="",
        sides=(_side("first", first, known, names), _side("second", second, known, names)),
        cache=cache,
        caches=LinkSwitch("Cache", tuple(Link(each, _url(view | {"cache": each}), each == cache) for each in CACHES)),
        swap=Link("swap devices", _url({"first": second, "second": first, "cache": cache})),
        sentences=comparison.sentences if first and second else (TOO_FEW,),
        kernels=comparison.kernels,
        matrices=comparison.by_matrix,
        dots=device_pair_dots(comparison),
    )


def _chosen(session: Session, chosen: list[str], known: tuple[str, ...]) -> tuple[str, str]:
    """Return the chosen devices; of those that fit, the two with most matrices in common, the slower memory first."""
    matrices = measured_matrices(session, FORMATS.name)
    first, second = ([device] if device else list(known) for device in chosen)
    pairs = [(a, b) for a in first for b in second if a != b]
    if not pairs:
        only = chosen[0] or chosen[1] or next(iter(known), "")
        return only, chosen[1] if chosen[0] else ""
    rates = {row.id: _copy_rate(row) for row in (*list_devices(session), *recorded_results.list_devices(session))}
    order = {device: place for place, device in enumerate(known)}

    def in_common(pair: tuple[str, str]) -> tuple[int, int, bool]:
        one, other = pair
        number = len(matrices.get(one, set()) & matrices.get(other, set()))
        return number, -order[one] - order[other], rates[one] <= rates[other]

    return max(pairs, key=in_common)


def _copy_rate(row: DeviceRow) -> float:
    """Return the measured copy bandwidth in bytes per second; infinite if it was not measured."""
    return profile_from_json(row.profile).memory.copy if row.profile else math.inf


def _side(name: str, current: str, known: tuple[str, ...], names: Mapping[str, str]) -> Choices:
    options = tuple(Choice(device, short(names.get(device, device)), device == current) for device in known)
    return Choices(f"side-{name}", name, name.capitalize(), options)


def _url(options: Mapping[str, str]) -> str:
    return f"/devices/compare?{urlencode(options)}"

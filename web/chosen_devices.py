"""Devices that a browser chose last, in a cookie: a page without a device in its address opens on one of them."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote, urlencode

from fastapi import Request, Response
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import gpu_named
from server.jobs.queue import get_job
from server.result_sources import find_sources
from web.device_labels import is_several
from web.results import device_names
from web.selection import Selection, study_url

COOKIE = "sparsight_devices"
SEPARATOR = ","
CHOSEN_MAX = 4
"""Number of devices that are kept: a page opens on the newest one that it offers."""

KEPT_S = 365 * 86_400


def chosen_device(request: Request, session: Session, study: str) -> str:
    """Return the device chosen last of those with results of a study; empty without one."""
    return last_of(request, session, find_sources(session, study).devices) if _read(request) else ""


def last_of(request: Request, session: Session, offered: Sequence[str]) -> str:
    """Return the device chosen last of those that a page offers, or one of the same GPU model; empty without one."""
    names = device_names(session)
    return next(filter(None, (_equal(device, offered, names) for device in _read(request))), "")


def address_on(device: str, study: str, selection: Selection) -> str:
    """Return the address of a study page on a device; empty if the address says what the page shows."""
    is_open = not (selection.device or selection.job or selection.matrix or selection.set)
    return study_url(study, selection.with_(device=device)) if device and is_open else ""


def matrix_address(request: Request, device: str) -> str:
    """Return the address of a matrix page on a device; empty if the address names its device."""
    query = [(name, value) for name, value in request.query_params.multi_items() if value]
    is_open = not request.query_params.get("device")
    return f"{request.url.path}?{urlencode([*query, ('device', device)])}" if device and is_open else ""


def devices_of(session: Session, selection: Selection) -> tuple[str, ...]:
    """Return the devices that an address chooses: its own, or those of its jobs."""
    of_jobs = dict.fromkeys(get_job(session, job_id).device for job_id in selection.job)
    return selection.device or tuple(of_jobs)


def remember(request: Request, response: Response, devices: Sequence[str], preset: str = "") -> None:
    """Remember a chosen device; several devices are a comparison, not a choice.

    preset  device that the page shows without a choice, which thus is none: its own links have it in their addresses
    """
    if len(devices) != 1 or devices[0] == preset:
        return
    chosen = tuple(dict.fromkeys((*devices, *_read(request))))[:CHOSEN_MAX]
    if chosen != _read(request):
        value = SEPARATOR.join(quote(device, safe="") for device in chosen)
        response.set_cookie(COOKIE, value, max_age=KEPT_S, httponly=True, samesite="lax")


def _equal(device: str, offered: Iterable[str], names: Mapping[str, str]) -> str:
    """Return the offered device that a chosen one stands for: itself, or one of its GPU model; empty without one.

    A matrix page also offers GPU models without a device. Several devices are equal to no other ones.
    """
    name, known = names.get(device, device), tuple(offered)
    if device in known or is_several(name):
        return device if device in known else ""
    of_model = {each: names.get(each, each) for each in known if gpu_named(name)}
    return next((e for e, n in of_model.items() if not is_several(n) and gpu_named(n) == gpu_named(name)), "")


def _read(request: Request) -> tuple[str, ...]:
    """Return the remembered devices, the newest first; other services of the host may have written some."""
    values = request.cookies.get(COOKIE, "").split(SEPARATOR)[:CHOSEN_MAX]
    return tuple(filter(None, map(unquote, values)))

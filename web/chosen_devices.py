"""Devices that a browser chose last, in a cookie: a study page without a device in its address opens on one of them."""

from collections.abc import Sequence
from urllib.parse import quote, unquote

from fastapi import Request, Response
from sqlalchemy.orm import Session

from server.jobs.queue import get_job
from server.result_sources import find_sources
from web.selection import Selection, study_url

COOKIE = "sparsight_devices"
SEPARATOR = ","
CHOSEN_MAX = 4
"""Number of devices that are kept: a study page opens on the newest one that has results of its study."""

KEPT_S = 365 * 86_400


def chosen_device(request: Request, session: Session, study: str) -> str:
    """Return the device chosen last of those with results of a study; empty without one."""
    chosen = _read(request)
    offered = find_sources(session, study).devices if chosen else ()
    return next((device for device in chosen if device in offered), "")


def address_on(device: str, study: str, selection: Selection) -> str:
    """Return the address of a study page on a device; empty if the address says what the page shows."""
    is_open = not (selection.device or selection.job or selection.matrix or selection.set)
    return study_url(study, selection.with_(device=device)) if device and is_open else ""


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


def _read(request: Request) -> tuple[str, ...]:
    """Return the remembered devices, the newest first; other services of the host may have written some."""
    values = request.cookies.get(COOKIE, "").split(SEPARATOR)[:CHOSEN_MAX]
    return tuple(filter(None, map(unquote, values)))

"""Chips of a study page: the row of controls that choose devices, settings, matrices, and kernels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpu_engine.text import units
from web.components import Choice, Choices, Link, LinkSwitch, NumberChip
from web.device_labels import short
from web.results import Results
from web.selection import VALUES_MAX, study_url
from web.studies.base import StudyPage

CHOICES_MAX = 24
"""Maximum number of matrices in the form; all others have their own pages."""

ALL = "all"
"""Label of the link that shows all devices."""

DEVICE = "Device"
"""Label of the switch of devices."""


def switches(study: StudyPage, results: Results, figure: str = "") -> tuple[LinkSwitch, ...]:
    """Return the switches of the page, or of a figure, that offer a choice."""
    every = (
        LinkSwitch(
            each.label,
            _links(results, each.parameter, each.options(results), each.current(results), each.values_for(results)),
        )
        for each in study.switches
        if each.figure == figure
    )
    return tuple(switch for switch in every if switch.links)


def devices(results: Results) -> tuple[LinkSwitch, ...]:
    """Return the switch of the devices with results; none without results."""
    links = _links(results, "device", results.devices, results.selection.device)
    links = tuple(replace(link, text=short(results.names.get(link.text, link.text))) for link in links)
    if len(results.devices) > 1:
        every = len(results.selection.device) == len(results.devices)
        links = tuple(replace(link, current=link.current and not every) for link in links)
        links += (Link(ALL, study_url(results.study, results.requested.with_(device=results.devices)), every),)
    return (LinkSwitch(DEVICE, links),) if links else ()


def selects(study: StudyPage, results: Results) -> tuple[Choices, ...]:
    """Return the fields that offer a choice; the address keeps the parameters of the others."""
    every = (Choices(each.id, each.parameter, each.label, tuple(each.choices(results))) for each in study.selects)
    return tuple(field for field in every if field.options)


def numbers(study: StudyPage, results: Results) -> tuple[NumberChip, ...]:
    """Return the fields for numbers, each with links to common values."""
    chips = []
    for each in study.numbers:
        chosen = results.data.number(each.parameter) or each.default
        links = tuple(
            Link(
                units.count(value),
                study_url(results.study, results.requested.with_(**{each.parameter: str(value)})),
                value == chosen,
            )
            for value in each.presets
        )
        chips.append(NumberChip(each.parameter, each.label, chosen, units.count(chosen), each.most, each.help, links))
    return tuple(chips)


def matrices(results: Results) -> tuple[Choice, ...]:
    """Return the chosen matrices and the newest others, up to a readable number."""
    chosen = results.selection.matrix
    others = [m for m in results.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*results.matrices, *chosen))
    return tuple(Choice(m, results.features[m].name, m in chosen) for m in offered if m not in left_out)


def all_matrices(results: Results) -> tuple[Link, ...]:
    """Return a link to all measured matrices, up to the limit of an address."""
    if not results.requested.matrix:
        return ()
    number = min(VALUES_MAX, len(results.matrices))
    return (Link(f"all {number}", study_url(results.study, results.requested.with_(matrix=()))),)


def hidden(results: Results, form: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of the address that are not fields of a form."""
    names = set(form)
    return tuple((name, value) for name, value in results.requested.pairs if name not in names)


def _links(
    results: Results,
    parameter: str,
    options: Sequence[str],
    current: Sequence[str],
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Link, ...]:
    """Return a link per option; another device resets the matrices.

    values  option → values of the parameter, if they differ from the option
    """
    base = results.requested.with_(matrix=()) if parameter == "device" else results.requested
    chosen = {option: (values or {}).get(option, (option,)) for option in options}
    return tuple(
        Link(option, study_url(results.study, base.with_(**{parameter: chosen[option]})), option in current)
        for option in options
    )

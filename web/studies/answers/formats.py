"""Answer of the page Formats: does a format for each matrix pay, and which one wins where?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpu_engine.findings.data import TRANSPOSE, StudyData
from gpu_engine.findings.formats.choices import Choice, Choices
from gpu_engine.findings.overall_ranking_text import NAMED_SHORT
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.words import amount
from web.device_labels import short
from web.explore import ExploreAnswer
from web.figures.formats.groups import Place, busy, by_place
from web.palette import mark_of
from web.results import Results
from web.selection import study_url
from web.studies.answers.formats_drawer import drawer_of, sentence_of
from web.studies.answers.formats_heat import LIBRARIES, heat, matrix_table
from web.studies.answers.formats_settings import NOISY, OF_ADVISOR, VERDICTS, Setting, numbers_text, settings
from web.studies.answers.wording import wins

NEAR = 1.1
"""Maximum slowdown of a kernel that is near the fastest one."""

COUNT_WORDS = {"equal": "equal or inconclusive"}
"""Value of the parameter `verdict` → its words in a count; others are their own words."""

SETTINGS_MAX = 2
"""Maximum number of devices and cache states with a heat table."""

NOTE = "Speedup: geometric mean over the matrices that a kernel was measured on, with its bootstrapped 95 % CI."


def answer(results: Results) -> ExploreAnswer | None:
    """Return the answer for all devices and cache states, with a heat table for each; None without a time.

    The table of the matrices is that of the first one.
    """
    every = list(settings(results))
    if not every:
        return _of_noise(results)
    first = every[0]
    if all(len(each.choices.groups) == 1 for each in every):
        one = _of_one(results, first)
        others = (f"{name}: {sentence_of(each, *each.choices.groups)}" for name, each in named(every)[1:])
        return replace(one, under=(*one.under, *others, *_without_results(results)))
    places = named(every)
    tables = (heat(results, each, name) for name, each in places[:SETTINGS_MAX])
    under = filter(None, (_counts(first), _for_n(first))) if len(every) == 1 else (_counts_there(*p) for p in places)
    near = _near(first.choices) if len(every) == 1 else ""
    notes = (near, NOTE, _fitted(first.choices, results.data))
    return ExploreAnswer(
        eyebrow(*(each.place for each in every)),
        sentence(first) if len(every) == 1 else _sentence_of_several(places),
        (*under, *_without_results(results)),
        (*tables, matrix_table(results, first, places[0][0])),
        tuple(filter(None, notes)),
        tuple(_count_links(results, first)) if len(every) == 1 else (),
    )


def named(every: Sequence[Setting]) -> list[tuple[str, Setting]]:
    """Return the settings with what distinguishes them: the device, the cache state, or both; empty for one setting."""
    devices, caches = ({each.place[i] for each in every} for i in (0, 1))
    return [
        (", ".join((*([short(device)] if len(devices) > 1 else []), *([cache] if len(caches) > 1 else []))), each)
        for each in every
        for device, cache in [each.place]
    ]


def _sentence_of_several(places: Sequence[tuple[str, Setting]]) -> str:
    """Return the mean speedup of a choice for each matrix in each of the first settings."""
    rivals = dict.fromkeys(each.in_sentence for _, each in places)
    gains = (
        f"{units.speedup((each.choices.advised or each.choices.best).mean)} ({name})" for name, each in places[:NAMED]
    )
    over = next(iter(rivals)) if len(rivals) == 1 else "its baseline"
    return f"Mean speedup of a format for each matrix over {over}: {', '.join(gains)}."


def _counts_there(name: str, setting: Setting) -> str:
    """Return the counts of the best kernel in one of several settings."""
    best, what = setting.choices.best, "best Sparsight" if setting.choices.sparsight else "fastest"
    gain = f"{what} kernel {units.speedup(best.mean)} over {setting.full_rival}"
    return f"{name}: {gain}. It is {wins(best.counts, 'matrices')}."


def _count_links(results: Results, setting: Setting) -> Iterator[tuple[str, str]]:
    """Yield the counts in their order, each with the address of the matrices that it counts.

    They are those of the best kernel, of the advisor's choice, and of the noisy matrices.
    """

    def href(verdict: str) -> str:
        return f"{study_url(results.study, results.requested.with_(verdict=verdict))}#matrix-verdicts"

    choices = setting.choices
    for prefix, choice in (("", choices.best), (OF_ADVISOR, choices.advised)):
        for verdict, number in zip(VERDICTS, choice.wins if choice else (), strict=False):
            if number:
                yield f"{COUNT_WORDS.get(verdict, verdict)} on {number}", href(prefix + verdict)
    if choices.busy:
        yield _noisy_names(setting), href(NOISY)


def _without_results(results: Results) -> tuple[str, ...]:
    """Return which chosen matrices have no results; empty if all have some."""
    measured = {m.matrix_id.removesuffix(TRANSPOSE) for m in results.measurements}
    names = [results.data.matrix(i).name for i in results.requested.matrix if i not in measured]
    return (f"{join(names, NAMED)} {'has' if len(names) == 1 else 'have'} no results of SpMV.",) if names else ()


def _of_noise(results: Results) -> ExploreAnswer | None:
    """Return that the timings of the first device and cache state are too noisy; None if nothing was timed."""
    for place, groups in by_place(results.measurements).items():
        if number := busy(groups):
            noisy = amount(number, "matrix", "matrices")
            under = f"No kernel is ranked on {noisy}. Close other programs on this machine and measure again."
            return ExploreAnswer(eyebrow(place), "The timings are too noisy to name the fastest format.", (under,), ())
    return None


def eyebrow(*places: Place) -> str:
    """Return what was measured, and where."""
    devices, caches = (dict.fromkeys(names) for names in zip(*places, strict=True))
    where = f"{', '.join(map(short, devices))} · {' and '.join(caches)} cache"
    return f"Formats · SpMV y = Ax in fp64 · {where}"


def sentence(setting: Setting) -> str:
    """Return whether a choice for each matrix beats the baseline, and whether a single kernel does."""
    choices, rival = setting.choices, setting.in_sentence
    choice, single = choices.advised or choices.best, choices.best_single
    gain = units.speedup(choice.mean)
    if not choice.beats_baseline:
        return f"Choosing a format for each matrix does not beat {rival}: mean speedup {gain}."
    if single is None or (not single.beats_baseline and single.mean <= 1.0):
        return f"Choosing a format for each matrix beats {rival} by {gain}; no single format does."
    alone = (
        f"{single.kernel} alone {'by' if single.beats_baseline else 'is inconclusive at'} {units.speedup(single.mean)}"
    )
    return f"Choosing a format for each matrix beats {rival} by {gain}; {alone}."


def _of_one(results: Results, setting: Setting) -> ExploreAnswer:
    """Return the answer on a single matrix: that of its drawer."""
    (matrix,) = setting.choices.groups
    drawer = drawer_of(results, setting, matrix)
    where = f"{drawer.title} · {eyebrow(setting.place)}"
    return ExploreAnswer(where, sentence_of(setting, matrix), drawer.under, drawer.pictures)


def _counts(setting: Setting) -> str:
    """Return what the best Sparsight kernel reaches against the baseline, and what the advisor's choice reaches."""
    choices, rival = setting.choices, setting.full_rival
    name = "best Sparsight" if choices.sparsight else "fastest"
    best = f"The {name} kernel {_reaches(choices.best, f' over {rival}', 'matrices')}."
    if choices.advised is None:
        return best
    what = "" if len(choices.advised.verdicts) == len(choices.best.verdicts) else "matrices"
    return f"{best} The advisor’s choice {_reaches(choices.advised, '', what)}."


def _reaches(choice: Choice, over: str, what: str) -> str:
    return f"reaches {units.speedup(choice.mean)}{over}: {wins(choice.counts, what)}"


def _for_n(setting: Setting) -> str:
    """Return on how many matrices another kernel pays for n SpMVs, and how many matrices do not count."""
    choices = setting.choices
    chosen = [cost.kernel for i in choices.groups if (cost := setting.chosen(i))]
    saves = sum(not setting.is_rival(kernel) for kernel in chosen)
    number = len(choices.busy)
    noisy = f"{_noisy_names(setting)} {'was' if number == 1 else 'were'} too noisy to count" if number else ""
    lacking = f"{choices.lacking} more have no time of {choices.baseline}" if choices.lacking else ""
    n = numbers_text(setting.n)
    leaving = f"for {n}, conversion included, leaving {setting.short_rival} saves time on {saves} of {len(chosen)}"
    text = "; ".join(filter(None, (leaving if chosen else "", noisy, lacking)))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _noisy_names(setting: Setting) -> str:
    """Return the names of the matrices that do not count because of noise, and how many more there are."""
    return join([setting.names[i] for i in setting.choices.busy], NAMED_SHORT)


def _near(choices: Choices) -> str:
    """Return on how many matrices the best single kernel is near the fastest one, and a library kernel the fastest."""
    single, fastest = choices.best_single, choices.fastest.measurements
    libraries = sum(mark_of(m.kernel)[0] == LIBRARIES for m in fastest.values())
    library = f"A library kernel is fastest on {libraries} of {len(fastest)}."
    if single is None:
        return library
    near = sum((m.median_s or math.inf) <= NEAR * (fastest[i].median_s or 0.0) for i, m in single.measurements.items())
    within = f"within {units.percent(NEAR - 1)} of the fastest on {near} of {len(fastest)} matrices"
    return f"{single.kernel} alone is {within}. {library}"


def _fitted(choices: Choices, data: StudyData) -> str:
    """Return what the advisor reaches on collected matrices, because its costs were fitted to generated ones too."""
    if choices.advised is None:
        return ""
    collected: list[str] = [i for i in choices.groups if data.matrix(i).source.get("kind") == "collection"]
    text = "The advisor’s costs were fitted to some of these matrices on the H200."
    real: Choice | None = choices.advised.within(collected)
    if real is None or real.interval is None:
        return text
    ends = units.ratio_interval(real.interval)
    mean = f"{units.speedup(real.mean)} (95{units.THIN}% CI {ends})"
    return f"{text} On the {len(real.verdicts)} from SuiteSparse it reaches {mean}."

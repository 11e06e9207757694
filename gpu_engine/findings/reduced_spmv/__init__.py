"""Findings of the `reduced_spmv` study: which block is best, what reading less gains, whether Figure 4 holds."""

from gpu_engine.findings.answer import Contest
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    common_axes,
    interval_text,
    row_of,
    share_text,
    with_interval_head,
)
from gpu_engine.findings.pagerank.figure_four import PRINTED
from gpu_engine.findings.pagerank.runs import triangles
from gpu_engine.findings.reduced_spmv.conclusions import said
from gpu_engine.findings.reduced_spmv.groups import (
    FULL,
    PAPER_BLOCK,
    BlockGain,
    Place,
    ProductGroup,
    best_block,
    places,
    product_groups,
)
from gpu_engine.findings.reduced_spmv.tables import called
from gpu_engine.pagerank.products import Product
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import in_words

HEADS = (
    Head("speed-up", "same layout in fp64"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("share of", "floor"),
    Head("rate", "GFLOP/s"),
    Head("sectors", "a gather of p"),
    Head("lines", "a gather of p"),
    Head("sectors", "a load of A"),
    Head("lines", "a load of A"),
    Head("stored"),
    Head("note", numeric=False),
)

HEADS_READ = ((2, "32 of two segments' bits"), (4, "16 of four segments' bits"))
"""Segments, and what the first of them is called."""


def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per matrix, device and part of the graph."""
    return tuple(_finding(group, data) for group in product_groups(data))


def contests(data: StudyData) -> tuple[Contest, ...]:
    """A contest per matrix, device and part of the graph."""
    return tuple(_contest(group, data) for group in product_groups(data))


def _contest(group: ProductGroup, data: StudyData) -> Contest:
    full = [m for (_, product), m in group.timed.items() if product == FULL]
    entrants = {label(m): m for m in group.measurements}
    baseline = label(full[0]) if full else ""
    name, of = data.matrix(group.matrix_id).name, triangles(group.triangle)
    return Contest(name, group.device, "warm", entrants, group.ranking, baseline, of)


def overview(data: StudyData) -> list[str]:
    """The same sentences of all graphs of a device together, where there are several."""
    found = []
    for place in places(group for group in product_groups(data) if not group.ranking.busy):
        if len(place.groups) > 1:
            every = [m for group in place.groups for m in group.measurements]
            first, *others = _sentences(place, StudyData(every, data.matrices)) or [""]
            over = f"Over {len(place.groups)} graphs on {place.name}: {first[:1].lower()}{first[1:]}"
            found += [over, *others] if first else []
    return found


def label(m: Measurement) -> str:
    """`csr/thread+cpms4, 2 of both, 128 bytes`: the kernel and what it reads."""
    _, product = Product.parse(m.kernel, m.axes)
    reads = f", {product.read} of {product.operands}, {called(product.block)}" if product.segments else ""
    return f"{m.kernel}{reads}"


def _finding(group: ProductGroup, data: StudyData) -> Finding:
    leaders = {m.case for m in group.ranking.leaders}
    full = [m for (_, product), m in group.timed.items() if product == FULL]
    name = data.matrix(group.matrix_id).name
    return Finding(
        study="reduced_spmv",
        matrix_id=group.matrix_id,
        device=group.device,
        cache="warm",
        title=f"{name}, lower triangle" if group.triangle == "lower" else name,
        axes=common_axes(group.measurements),
        leaders=tuple(label(m) for m in group.ranking.leaders),
        decided=group.ranking.decided,
        busy=group.ranking.busy,
        sentences=_said_of(group, data),
        baseline=label(full[0]) if full else "",
        rows=tuple(row_of(m, label(m), m.case in leaders, full[0] if full else None) for m in group.measurements),
        tabulate=lambda: Table(
            with_interval_head(HEADS, group.measurements), tuple(_cells(m, group) for m in group.measurements)
        ),
        members=(group.matrix_id,),
    )


def _said_of(group: ProductGroup, data: StudyData) -> tuple[str, ...]:
    if not group.timed:
        note = group.measurements[0].note
        return (f"No product has a time here{f': {note}' if note else ''}.",)
    if group.ranking.busy:
        return (group.ranking.busy,)
    (place,) = places([group])
    own = StudyData(group.measurements, data.matrices)
    facts = (units.seconds(group.ranking.measurements[0].median_s),)
    return (*_sentences(place, own), group.ranking.sentence(label, f"on {group.device}", facts))


def _sentences(place: Place, own: StudyData) -> list[str]:
    """Which block is best, what a first segment gains in each layout, and how much of Figure 4 holds."""
    every = (_best(best_block(place)), *(_gains(place, layout) for layout in place.layouts), said(own))
    return [sentence for sentence in every if sentence]


def _best(found: BlockGain | None) -> str:
    if found is None:
        return ""
    faster, slower = found.verdicts["faster"], found.verdicts["slower"]
    ahead = f"{in_words(found.ratio)} as {_named(found.other)} in geometric mean"
    counts = f"faster in {faster} of {found.products} products, slower in {slower}"
    own = _named(found.block)
    if found.is_settled:
        return f"{own[0].upper()}{own[1:]} are best: {ahead}, {counts}."
    return f"No block is measurably best: {own} are {ahead}, {counts}."


def _named(block: str) -> str:
    return f"blocks of {block} bytes" if block.isdigit() else "separate arrays"


def _gains(place: Place, layout: str) -> str:
    """Of the first segment of two and of four."""
    parts = [part for segments, bits in HEADS_READ if (part := _gain(place, layout, segments, bits))]
    return f"Speed-up over fp64 of {layout}: {', '.join(parts)}." if parts else ""


def _gain(place: Place, layout: str, segments: int, bits: str) -> str:
    """`1.57 × on 32 of two segments' bits (values alone 1.28 ×, ranks alone 1.12 ×; the paper about 1.5)`."""
    both, values, ranks = (
        place.gain(layout, Product(segments, 1, operands, place.block)) for operands in ("both", "A", "p")
    )
    if both is None:
        return ""
    alone = (f"{of} alone {units.ratio(mean.value)}" for of, mean in (("values", values), ("ranks", ranks)) if mean)
    printed = f"the paper about {PRINTED[segments, 1]:g}" if place.block == PAPER_BLOCK else ""
    beside = "; ".join(filter(None, (", ".join(alone), printed)))
    return f"{units.ratio(both.value)} on {bits}{f' ({beside})' if beside else ''}"


def _cells(m: Measurement, group: ProductGroup) -> tuple[str, ...]:
    own = m.details
    return (
        units.ratio(group.gain(*Product.parse(m.kernel, m.axes))),
        units.seconds(m.median_s),
        interval_text(m),
        share_text(m.roofline_s, m),
        units.number(m.gflops),
        *map(units.number, (own.sectors_of_ranks, own.lines_of_ranks, own.sectors_of_values, own.lines_of_values)),
        units.size(m.stored_bytes),
        m.note,
    )

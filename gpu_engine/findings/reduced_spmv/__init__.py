"""Findings of the `reduced_spmv` study: best block size, speedup of reduced precision, and agreement with Figure 4."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    common_axes,
    interval_text,
    row_of,
    share_text,
    with_intervals,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.pagerank.runs import triangles
from gpu_engine.findings.reduced_spmv.conclusions import agreement
from gpu_engine.findings.reduced_spmv.figure_four import PRINTED
from gpu_engine.findings.reduced_spmv.groups import (
    FULL,
    PAPER_BLOCK,
    BlockGain,
    ProductGroup,
    Setting,
    best_block,
    group_by_setting,
    product_groups,
)
from gpu_engine.findings.reduced_spmv.tables import called
from gpu_engine.pagerank.products import Product
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import capital
from gpu_engine.verdicts.verdict import speedup_over

HEADS = (
    Head("speedup", "same layout in fp64"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("% of roofline"),
    Head("throughput", "GFLOP/s"),
    Head("sectors", "per gather of p"),
    Head("lines", "per gather of p"),
    Head("sectors", "per load of A"),
    Head("lines", "per load of A"),
    Head("storage"),
    Head("note", numeric=False),
)

HEADS_READ = ((2, "32 of two segments' bits"), (4, "16 of four segments' bits"))
"""(segments, name of the bits of the first one)."""


def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, and triangle."""
    return tuple(_finding(group, data) for group in product_groups(data))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, device, and triangle."""
    return tuple(_contest(group, data) for group in product_groups(data))


def _contest(group: ProductGroup, data: StudyData) -> ComparisonGroup:
    full = [m for (_, product), m in group.timed.items() if product == FULL]
    entrants = {label(m): m for m in group.measurements}
    baseline = label(full[0]) if full else ""
    name, of = data.matrix(group.matrix_id).name, triangles(group.triangle)
    return ComparisonGroup(name, group.device, "warm", entrants, group.ranking, baseline, of)


def overview(data: StudyData) -> list[str]:
    """Return the sentences on all graphs of a device together, if there are several."""
    sentences = []
    for setting in group_by_setting(group for group in product_groups(data) if not group.ranking.busy):
        if len(setting.groups) > 1:
            measurements = [m for group in setting.groups for m in group.measurements]
            first, *others = _sentences(setting, StudyData(measurements, data.matrices)) or [""]
            over = f"Over {len(setting.groups)} graphs on {setting.name}: {first[:1].lower()}{first[1:]}"
            sentences += [over, *others] if first else []
    return sentences


def label(m: Measurement) -> str:
    """Return the kernel and what it reads: `csr/thread+cpms4, 2 of both, 128 bytes`."""
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
        sentences=_all_sentences(group, data),
        baseline=label(full[0]) if full else "",
        rows=tuple(row_of(m, label(m), m.case in leaders, full[0] if full else None) for m in group.measurements),
        tabulate=lambda: with_intervals(
            Table(HEADS, tuple(_cells(m, group) for m in group.measurements)), group.measurements
        ),
        members=(group.matrix_id,),
    )


def _all_sentences(group: ProductGroup, data: StudyData) -> tuple[str, ...]:
    if not group.timed:
        note = group.measurements[0].note
        return (f"No SpMV was timed{f': {note}' if note else ''}.",)
    if group.ranking.busy:
        return (group.ranking.busy,)
    (setting,) = group_by_setting([group])
    group_data = StudyData(group.measurements, data.matrices)
    facts = (units.seconds(group.ranking.measurements[0].median_s),)
    return (*_sentences(setting, group_data), group.ranking.sentence(label, f"on {group.device}", facts))


def _sentences(setting: Setting, data: StudyData) -> list[str]:
    """Return sentences on the best block size, the speedup of the first segment, and the agreement with Figure 4."""
    sentences = (_best(best_block(setting)), *(_gains(setting, layout) for layout in setting.layouts), agreement(data))
    return [sentence for sentence in sentences if sentence]


def _best(best: BlockGain | None) -> str:
    if best is None:
        return ""
    faster, slower = best.verdicts["faster"], best.verdicts["slower"]
    speedup = f"{speedup_over(best.ratio, _block_text(best.other))} (geometric mean)"
    counts = f"faster in {faster} of {best.products} SpMVs, slower in {slower}"
    block = _block_text(best.block)
    if best.is_settled:
        return f"{capital(block)} are best. {capital(speedup)}, {counts}."
    return f"No block size is measurably better. {capital(block)}: {speedup}, {counts}."


def _block_text(block: str) -> str:
    return f"blocks of {block} bytes" if block.isdigit() else "separate arrays"


def _gains(setting: Setting, layout: str) -> str:
    """Return the speedup of reading only the first of two and of four segments."""
    parts = [part for segments, bits in HEADS_READ if (part := _gain(setting, layout, segments, bits))]
    return " ".join(f"Speedup of {layout} over fp64: {part}." for part in parts)


def _gain(setting: Setting, layout: str, segments: int, bits: str) -> str:
    """Return `1.57 × with 32 of two segments' bits (only values 1.28 ×, only ranks 1.12 ×; paper: about 1.5)`."""
    both, values, ranks = (
        setting.gain(layout, Product(segments, 1, operands, setting.block)) for operands in ("both", "A", "p")
    )
    if both is None:
        return ""
    single = (f"only {of} {units.ratio(mean.value)}" for of, mean in (("values", values), ("ranks", ranks)) if mean)
    printed = f"paper: about {PRINTED[segments, 1].low}" if setting.block == PAPER_BLOCK else ""
    details = "; ".join(filter(None, (", ".join(single), printed)))
    return f"{units.ratio(both.value)} with {bits}{f' ({details})' if details else ''}"


def _cells(m: Measurement, group: ProductGroup) -> tuple[str, ...]:
    details = m.details
    return (
        units.ratio(group.gain(*Product.parse(m.kernel, m.axes))),
        units.seconds(m.median_s),
        interval_text(m),
        share_text(m.roofline_s, m),
        units.number(m.gflops),
        *map(
            units.number,
            (details.sectors_of_ranks, details.lines_of_ranks, details.sectors_of_values, details.lines_of_values),
        ),
        units.size(m.stored_bytes),
        m.note,
    )

from gpu_engine import spmm
from gpu_engine.batched import KERNELS
from gpu_engine.competitors.batches import peer_names
from gpu_engine.findings.batched.groups import PAPER
from gpu_engine.findings.spmm.names import spmvs_of
from gpu_engine.formats import FORMATS
from tests.samples.batched import multiplied
from tests.samples.pagerank import ran
from tests.samples.scaling import cold
from web.figure_svg.colors import ink_on, themed, tokens
from web.figures.formats.color_scale import steps
from web.palette import (
    BATCHED_HUES,
    FAMILIES,
    FAMILY_NAMES,
    FORMS,
    HEAT,
    HUES,
    OKABE_ITO,
    OTHERS,
    SPMV_HUE,
    batch_position,
    batch_style,
    family,
    mark_of,
    spmm_position,
    spmm_style,
    style,
    symbol_of,
)
from web.studies.batched import BATCHED
from web.studies.pagerank import PAGERANK
from web.studies.scaling import SCALING


def test_no_two_formats_look_alike() -> None:
    names = {entry.name for entry in FORMATS}
    looks = [style(name) for name in names]
    assert len({(look.color, look.pattern) for look in looks}) == len(names)
    assert all(look.color != OTHERS for look in looks)


def test_every_format_has_a_family_with_one_hue() -> None:
    assert {entry.name for entry in FORMATS} <= {name for names in FAMILIES.values() for name in names}
    assert len(HUES) <= 7
    assert {*FAMILIES, "of-library"} == {*FAMILY_NAMES}
    for name in (entry.name for entry in FORMATS):
        assert style(name).color == HUES[family(name)]


def test_the_mark_of_a_kernel_has_the_hue_of_its_family_and_its_own_form() -> None:
    kernels = [entry.name_of(kernel) for entry in FORMATS for kernel in entry.kernels]
    marks = {kernel: mark_of(kernel) for kernel in kernels}
    assert {form for _, form in marks.values()} == {*FORMS}
    for kernel, (color, _) in marks.items():
        assert color == family(kernel.partition("/")[0])
    for color in {color for color, _ in marks.values()}:
        forms = [form for own, form in marks.values() if own == color]
        assert len(set(forms)) == min(len(forms), len(FORMS)), "the first members differ"
    assert mark_of("cusparse/best") == mark_of("custom:mine/first") == ("of-library", "square")
    assert mark_of("auto/flexible")[0] == "of-none"


def test_a_library_is_grey_and_hatched_always_the_same() -> None:
    assert style("cusparse") == style("cusparse")
    assert style("cusparse").color == OTHERS
    assert style("cusparse").pattern


def test_no_two_kernels_of_batches_look_alike() -> None:
    looks = [batch_style(kernel.name) for kernel in KERNELS]
    for distinct in ("pattern", "symbol", "dash"):
        looks_apart = {(look.color, getattr(look, distinct)) for look in looks}
        assert len(looks_apart) == len(KERNELS), "the place in FORMATS decides a format's color: append new ones"
    assert all(look.color != OTHERS for look in looks)
    peers = [batch_style(name) for name in peer_names("cuda")]
    assert {look.color for look in peers} == {OTHERS}
    assert len({(look.symbol, look.dash) for look in peers}) == len(peers)


def test_a_format_has_one_colour_in_all_studies_and_its_first_kernel_one_look() -> None:
    for name in ("coo", "csr", "ell"):
        first, *others = [kernel.name for kernel in KERNELS if kernel.name.partition("/")[0] == name]
        assert batch_style(first) == style(name)
        shared = [kernel for kernel in others if kernel not in BATCHED_HUES]
        assert {batch_style(kernel).color for kernel in shared} <= {style(name).color}


def test_no_two_kernels_of_the_batched_paper_have_the_same_colour() -> None:
    assert len({batch_style(kernel).color for kernel in PAPER}) == len(PAPER)
    ours = {batch_style(kernel.name).color for kernel in KERNELS if kernel.name not in BATCHED_HUES}
    assert not ours & set(BATCHED_HUES.values())


def luminance(color: str) -> float:
    """Relative luminance of `#rrggbb`; WCAG 2.2."""
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_stands_out_from_a_light_and_a_dark_page() -> None:
    for color in map(luminance, (*OKABE_ITO, *HUES.values(), *BATCHED_HUES.values(), OTHERS)):
        assert (luminance("#fbfbf9") + 0.05) / (color + 0.05) >= 3
        assert (color + 0.05) / (luminance("#1a1c1f") + 0.05) >= 3


def test_swatches_are_the_colours_of_the_figures() -> None:
    assert BATCHED.swatch(multiplied("csr/smart", 1.0)) == batch_style("csr/smart").color
    shared = {m.format: SCALING.swatch(m) for name in ("pCSR", "pCSC", "pCOO") for m in cold(partitioning=name)}
    assert len(set(shared.values()) - {OTHERS}) == 3
    assert PAGERANK.swatch(ran("ell/thread+cpms2", (13, 15))[0]) == style("ell").color


def test_libraries_come_after_our_kernels_of_batches() -> None:
    names = ["cusparse/best", "ell/thread", "coo/segmented"]
    assert sorted(names, key=batch_position) == ["coo/segmented", "ell/thread", "cusparse/best"]


def test_a_kernel_has_its_form_in_figures_and_only_libraries_are_squares() -> None:
    assert symbol_of("cusparse/best") == "square"
    for entry in FORMATS:
        for kernel in entry.kernels:
            assert symbol_of(entry.name_of(kernel)) not in ("square", "triangle", "ring")
        assert style(entry.name).symbol != "square"


def test_no_two_kernels_of_columns_look_alike() -> None:
    kernels = [kernel.name for kernel in spmm.KERNELS]
    looks = [spmm_style(name) for name in kernels]
    assert len({look.color for look in looks}) == len(kernels)
    assert OTHERS not in {look.color for look in looks}
    spmvs = [spmm_style(spmvs_of(f"csr/{variant}")) for variant in ("scalar", "vector", "vector16", "smart")]
    assert {look.color for look in spmvs} == {SPMV_HUE}
    assert SPMV_HUE not in {look.color for look in looks}
    assert len({(look.symbol, look.dash) for look in spmvs}) == len(spmvs)
    assert spmm_style("cusparse/spmm_csr_alg2").color == OTHERS
    assert len({mark_of(name) for name in kernels}) == len(kernels)
    shuffled = [
        spmvs_of("csr/vector"),
        "cusparse/spmm_csr_alg2",
        "scipy/spmm",
        *reversed(kernels),
        spmvs_of("csr/scalar"),
    ]
    assert sorted(shuffled, key=spmm_position) == [
        *kernels,
        "cusparse/spmm_csr_alg2",
        "scipy/spmm",
        spmvs_of("csr/scalar"),
        spmvs_of("csr/vector"),
    ]


def test_a_heat_map_has_the_colors_of_the_tables_in_both_themes() -> None:
    known = tokens()
    assert [known[f"heat-{step}"][0] for step in range(len(HEAT))] == list(HEAT)
    assert [themed(color) for color in HEAT] == [f"var(--heat-{step})" for step in range(len(HEAT))]
    assert [color for _, color in steps()][::2] == list(HEAT)
    # The fastest cell is dark on a light page and light on a dark one.
    assert ink_on(themed(HEAT[0])) == "light-dark(#ffffff,#000000)"
    assert ink_on("#ffffff") == "#000000"

from gpu_engine.batched import KERNELS
from gpu_engine.competitors.batches import peer_names
from gpu_engine.formats import FORMATS
from tests.samples.batched import multiplied
from tests.samples.pagerank import ran
from tests.samples.scaling import cold
from web.palette import OTHERS, batch_position, batch_style, style
from web.studies.batched import BATCHED
from web.studies.pagerank import PAGERANK
from web.studies.scaling import SCALING


def test_no_two_formats_look_alike() -> None:
    names = {entry.name for entry in FORMATS}
    looks = [style(name) for name in names]
    assert len({(look.color, look.pattern) for look in looks}) == len(names)
    assert all(look.color != OTHERS for look in looks)


def test_a_library_is_grey_and_hatched_always_the_same() -> None:
    assert style("cusparse") == style("cusparse")
    assert style("cusparse").color == OTHERS
    assert style("cusparse").pattern


def test_no_two_kernels_of_batches_look_alike() -> None:
    looks = [batch_style(kernel.name) for kernel in KERNELS]
    assert len({(look.color, look.dash) for look in looks}) == len(KERNELS)
    assert all(look.color != OTHERS for look in looks)
    peers = [batch_style(name) for name in peer_names("cuda")]
    assert {look.color for look in peers} == {OTHERS}
    assert len({(look.symbol, look.dash) for look in peers}) == len(peers)


def test_swatches_are_the_colours_of_the_figures() -> None:
    assert BATCHED.swatch(multiplied("csr/smart", 1.0)) == batch_style("csr/smart").color
    shared = {m.format: SCALING.swatch(m) for name in ("pCSR", "pCSC", "pCOO") for m in cold(partitioning=name)}
    assert len(set(shared.values()) - {OTHERS}) == 3
    assert PAGERANK.swatch(ran("ell/thread+cpms2", (13, 15))[0]) == style("ell").color


def test_libraries_come_after_our_kernels_of_batches() -> None:
    names = ["cusparse/best", "ell/thread", "coo/segmented"]
    assert sorted(names, key=batch_position) == ["coo/segmented", "ell/thread", "cusparse/best"]

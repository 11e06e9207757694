from gpu_engine.formats import FORMATS
from web.palette import OTHERS, style


def test_no_two_formats_look_alike() -> None:
    looks = [style(entry.name) for entry in FORMATS]
    assert len({(look.color, look.pattern) for look in looks}) == len(FORMATS)
    assert all(look.color != OTHERS for look in looks)


def test_a_library_is_grey_and_hatched_always_the_same() -> None:
    assert style("cusparse") == style("cusparse")
    assert style("cusparse").color == OTHERS
    assert style("cusparse").pattern

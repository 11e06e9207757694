"""Every reader on files made from a seed: none is read wrongly, none that nobody can read is read.

More of them: `python -m tests.gpu_engine.matrix_io.corpus --seed 7 --cases 5000`.
"""

from pathlib import Path

import pytest

from gpu_engine.matrix_io import READERS
from tests.gpu_engine.matrix_io import corpus

SEED = 11
EACH = 60


def test_every_reader_has_a_generator() -> None:
    assert {reader.name.removesuffix(" v5") for reader in READERS} <= corpus.GENERATORS.keys()


@pytest.mark.parametrize("kind", corpus.GENERATORS)
def test_every_file_is_read_right_or_refused_with_reason(kind: str, tmp_path: Path) -> None:
    verdicts = []
    for case in corpus.cases(kind, SEED, EACH):
        verdict, said = corpus.judge(case, tmp_path)
        assert not corpus.is_bad(verdict, said), (verdict, said, case.name, case.content)
        verdicts.append(verdict)
    assert verdicts.count(corpus.RIGHT) >= EACH // 4
    assert verdicts.count(corpus.REFUSED_RIGHT) >= EACH // 5


@pytest.mark.parametrize("kind", corpus.SECOND_OPINIONS)
def test_the_oracles_agree_with_other_programs(kind: str) -> None:
    asked = [case for case in corpus.cases(kind, SEED, EACH) if case.meaning and not case.meaning.refusable]
    assert len(asked) >= EACH // 4
    for case in asked:
        assert case.meaning
        assert corpus.SECOND_OPINIONS[kind](case.content, case.meaning), case.content

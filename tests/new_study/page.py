"""The page of the `transpose` study."""

from tests.new_study.figure import LAYOUT, RATES
from tests.new_study.findings import findings
from tests.new_study.study import TRANSPOSE
from web.selection import one_of
from web.studies.base import StudyPage, Switch

LAYOUTS = ("rows", "columns")

TRANSPOSE_PAGE = StudyPage(
    study=TRANSPOSE,
    link="Transpose",
    title="SpMV with the transposed matrix",
    lead="Time of y = Aᵀx with the layout of A.",
    invitation="Open a matrix, choose the study transpose and press Measure.",
    findings=findings,
    figures=(RATES,),
    with_traces=True,
    parameters=(one_of(LAYOUT, LAYOUTS),),
    switches=(Switch(LAYOUT, "Layout", lambda _: LAYOUTS, lambda results: results.data.chosen.get(LAYOUT, ())),),
)

"""Reader of GEXF, as Gephi and NetworkX write it: schema of the GEXF Working Group, 1.1 to 1.3, static graphs."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.errors import MatrixFileError, quote
from gpu_engine.matrix_io.base import ReadResult
from gpu_engine.matrix_io.graph_xml import Edges, XmlReader, weight_of

BOTH = {"directed": False, "undirected": True, "mutual": True}
"""Type of an edge → whether it stands for both directions."""


@dataclass
class _Graph:
    """Handler of GEXF elements; `both` is the default type of edges, None before the graph begins."""

    edges: Edges
    both: bool | None = None

    def start(self, name: str, attributes: Mapping[str, str], parents: list[str]) -> None:
        """Handle the begin of an element; raises ValueError with a sentence for an invalid element."""
        if name == "graph":
            if self.both is not None:
                raise ValueError("The file holds several graphs; export one alone.")
            if attributes.get("mode", "static") != "static":
                raise ValueError("The graph changes over time (mode dynamic); export the graph of one time.")
            # The schema says undirected for a graph that names no type.
            self.both = _is_both(attributes.get("defaultedgetype", "undirected"))
        elif name == "node" and parents[-1:] == ["nodes"]:
            self.edges.add_node(attributes)
        elif name == "edge" and parents[-1:] == ["edges"]:
            both = _is_both(attributes["type"]) if "type" in attributes else bool(self.both)
            weight = attributes.get("weight")
            self.edges.add_edge(attributes, both, None if weight is None else weight_of(weight))

    def end(self, name: str, text: str) -> None:
        """Handle the end of an element; GEXF uses no text."""

    def result(self) -> ReadResult:
        """Return the matrix; raises MatrixFileError."""
        if self.both is None:
            raise MatrixFileError("The GEXF file holds no graph; export one.")
        missing = len(self.edges) - self.edges.weighted
        if not self.edges.weighted:
            return self.edges.result("The edges have no weight; every entry is 1.")
        return self.edges.result(*([f"{missing} edges have no weight; it is 1, as GEXF says."] if missing else []))


def _is_both(kind: str) -> bool:
    if kind not in BOTH:
        raise ValueError(f"An edge has the type {quote(kind)}; expected directed, undirected or mutual.")
    return BOTH[kind]


class Gexf(XmlReader):
    """Reader of one static graph; the attribute weight of an edge is its value (default 1)."""

    name = "GEXF"
    root = b"gexf"
    graph = _Graph

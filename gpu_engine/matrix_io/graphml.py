"""Reader of GraphML: Brandes et al., GraphML Progress Report, 2001, and its primer of 2002."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_engine.errors import MatrixFileError, quote
from gpu_engine.matrix_io.base import ReadResult
from gpu_engine.matrix_io.graph_xml import Edges, XmlReader, weight_of

TRUTHS = {"true": True, "1": True, "false": False, "0": False}
NUMBERS = ("int", "long", "float", "double")
WHOLE = ("int", "long")
WEIGHT = "weight"


@dataclass
class _Graph:
    """Handler of GraphML elements.

    keys      id of a key of edges → (name, type) of the attribute
    defaults  id of a key → its default value
    """

    edges: Edges
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[str, float] = field(default_factory=dict)
    directed: bool | None = None
    _key: str = ""
    _edge: Mapping[str, str] | None = None
    _weight: float | None = None

    def start(self, name: str, attributes: Mapping[str, str], parents: list[str]) -> None:
        """Handle the begin of an element; raises ValueError with a sentence for an invalid element."""
        if name == "graph":
            self._begin_graph(attributes, parents)
        elif name == "node":
            self.edges.add_node(attributes)
        elif name == "edge":
            self._edge, self._weight = attributes, None
        elif name == "hyperedge":
            raise ValueError("A hyperedge joins more than two nodes, which no matrix entry does. Export edges alone.")
        elif name == "key" and attributes.get("for", "all") in ("edge", "all"):
            self._add_key(attributes)
        elif name == "key":
            self._key = ""
        elif name == "data":
            self._key = attributes.get("key", "")

    def _add_key(self, attributes: Mapping[str, str]) -> None:
        self._key = attributes.get("id", "")
        attribute = attributes.get("attr.name", self._key)
        if attribute.lower() == WEIGHT and self._weight_key() not in ("", self._key):
            raise ValueError("Two keys of edges are named weight; export the graph with one.")
        if attribute.lower() == WEIGHT and self.directed is not None:
            raise ValueError("The key weight stands behind the graph; keys come before it.")
        self.keys[self._key] = attribute, attributes.get("attr.type", "string")

    def _begin_graph(self, attributes: Mapping[str, str], parents: list[str]) -> None:
        if "node" in parents or "edge" in parents:
            raise ValueError("A node holds a graph of its own; export the graph flat, without groups.")
        if self.directed is not None:
            raise ValueError("The file holds several graphs; export one alone.")
        kind = attributes.get("edgedefault", "")
        if kind not in ("directed", "undirected"):
            raise ValueError(f"The graph has edgedefault {quote(kind)}; expected directed or undirected.")
        self.directed = kind == "directed"

    def _weight_key(self) -> str:
        return next((key for key, (name, _) in self.keys.items() if name.lower() == WEIGHT), "")

    def end(self, name: str, text: str) -> None:
        """Handle the end of an element; raises ValueError with a sentence for a weight that is not a number."""
        is_weight = bool(self._key) and self._key == self._weight_key()
        is_whole = is_weight and self.keys[self._key][1] in WHOLE
        if name == "default" and is_weight:
            self.defaults[self._key] = weight_of(text, is_whole)
        elif name == "data" and is_weight and self._edge is not None:
            if self._weight is not None:
                raise ValueError("The edge has two weights; export the graph again.")
            self._weight = weight_of(text, is_whole)
        elif name == "edge" and self._edge is not None:
            self._end_edge(self._edge)
            self._edge = None

    def _end_edge(self, attributes: Mapping[str, str]) -> None:
        directed = self.directed
        if (given := attributes.get("directed")) is not None:
            if given not in TRUTHS:
                raise ValueError(f"The edge has directed {quote(given)}; expected true or false.")
            directed = TRUTHS[given]
        weight = self.defaults.get(self._weight_key()) if self._weight is None else self._weight
        self.edges.add_edge(attributes, not directed, weight)

    def result(self) -> ReadResult:
        """Return the matrix; raises MatrixFileError."""
        if self.directed is None:
            raise MatrixFileError("The GraphML file holds no graph; export one.")
        if 0 < self.edges.weighted < len(self.edges):
            raise MatrixFileError(
                f"{len(self.edges) - self.edges.weighted} of {len(self.edges)} edges have no weight; give each of them "
                "one, or the key a default."
            )
        if self.edges.weighted:
            return self.edges.result("The values are those of the edge attribute weight.")
        numeric = [name for name, kind in self.keys.values() if kind in NUMBERS and name.lower() != WEIGHT]
        note = f"The edges have the attribute {quote(numeric[0])}, but none named weight; " if numeric else ""
        return self.edges.result(f"{note}every entry is 1." if note else "The edges have no weight; every entry is 1.")


class GraphML(XmlReader):
    """Reader of one graph with nodes and edges; the edge attribute named weight has the values."""

    name = "GraphML"
    root = b"graphml"
    graph = _Graph

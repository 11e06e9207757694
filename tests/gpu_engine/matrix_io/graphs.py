"""GraphML and GEXF files in the spellings of their writers, and the graphs that they were made from."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tests.gpu_engine.matrix_io.case import Case, Meaning, UnreadableError, decimal_token, summed, value

Edge = tuple[int, int, bool, str | None]
"""Source, target, whether it stands for both directions, the weight."""


@dataclass
class Graph:
    """A graph whose edges name nodes by their places in `nodes`."""

    nodes: list[str]
    directed: bool
    edges: list[Edge] = field(default_factory=list)


def graph_of(rng: random.Random) -> Graph:
    names = rng.choice([["n{}"], ["{}"], ["Zo\u00eb {} & <co>"], ["n{}::{}"]])[0]
    graph = Graph([names.format(k, k) for k in range(rng.randint(1, 6))], rng.random() < 0.5)
    rng.shuffle(graph.nodes)
    weighted, mixed = rng.random() < 0.6, rng.random() < 0.2
    for _ in range(rng.choice([0, 1, 5, 9])):
        both = not graph.directed if not mixed else rng.random() < 0.5
        ends = rng.randrange(len(graph.nodes)), rng.randrange(len(graph.nodes))
        token = rng.choice([str(rng.randint(-9, 99)), decimal_token(rng, 300).replace("D", "e")]) if weighted else None
        graph.edges.append((*ends, both, token))
    return graph


def meaning_of(graph: Graph, default: str = "1") -> Meaning | None:
    """The adjacency matrix; edges for both directions are mirrored, loops but once."""
    entries = []
    try:
        for source, target, both, token in graph.edges:
            number = value(default if token is None else token)
            entries.append((source, target, number))
            if both and source != target:
                entries.append((target, source, number))
        # A pair of edges in both directions is added up in the order in which either side meets them.
        return summed((len(graph.nodes), len(graph.nodes)), entries)
    except UnreadableError:
        return None


def graphml(rng: random.Random, graph: Graph) -> str:
    """As NetworkX, igraph, yEd and Gephi write it."""
    key, prefix = rng.choice(["d0", "weight", "e_weight"]), rng.choice(["", "", "g:"])
    space = (
        rng.choice(["", ' xmlns="http://graphml.graphdrawing.org/xmlns"'])
        if not prefix
        else (' xmlns:g="http://graphml.graphdrawing.org/xmlns"')
    )
    extra = '<y:Shape xmlns:y="http://www.yworks.com/xml/graphml">{}</y:Shape>' if rng.random() < 0.3 else ""
    extra = extra.replace("www.yworks.com/xml/graphml", "www.yworks.com/xml/y")
    lines = [f"<{prefix}graphml{space}>"]
    if any(token is not None for *_, token in graph.edges):
        name = rng.choice(["weight", "Weight"])
        attributes = f'id="{key}" for="{rng.choice(["edge", "all"])}" attr.name="{name}" attr.type="double"'
        lines.append(f"<{prefix}key {attributes}/>")
    lines.append(f'<{prefix}key id="v" for="node" attr.name="weight" attr.type="string"/>')
    kind = "directed" if graph.directed else "undirected"
    lines.append(f'<{prefix}graph id="G" edgedefault="{kind}">')
    nodes = [
        f"<{prefix}node id={quoteattr(name)}>{_data(prefix, 'v', 'x')}{extra}</{prefix}node>" for name in graph.nodes
    ]
    edges = []
    for source, target, both, token in graph.edges:
        ends = f"source={quoteattr(graph.nodes[source])} target={quoteattr(graph.nodes[target])}"
        own = f' directed="{str(not both).lower()}"' if both == graph.directed or rng.random() < 0.1 else ""
        data = _data(prefix, key, rng.choice(["{}", " {}\n"]).format(token)) if token is not None else ""
        edges.append(f"<{prefix}edge {ends}{own}>{data}</{prefix}edge>")
    # Edges may stand before the nodes that they join.
    lines += [*edges, *nodes] if rng.random() < 0.2 else [*nodes, *edges]
    return "\n".join([*lines, f"</{prefix}graph>", f"</{prefix}graphml>"])


def _data(prefix: str, key: str, text: str) -> str:
    return f'<{prefix}data key="{key}">{escape(text)}</{prefix}data>'


def gexf(rng: random.Random, graph: Graph) -> str:
    """As Gephi and NetworkX write it."""
    kind = "directed" if graph.directed else "undirected"
    default = f' defaultedgetype="{kind}"' if graph.directed or rng.random() < 0.7 else ""
    space = rng.choice(["", ' xmlns="http://www.gexf.net/1.2draft"', ' xmlns="http://gexf.net/1.3"'])
    lines = [f'<gexf{space} version="1.2"><meta><creator>x</creator></meta><graph mode="static"{default}><nodes>']
    lines += [f"<node id={quoteattr(name)} label={quoteattr(name)}/>" for name in graph.nodes]
    lines.append("</nodes><edges>")
    for number, (source, target, both, token) in enumerate(graph.edges):
        ends = f"source={quoteattr(graph.nodes[source])} target={quoteattr(graph.nodes[target])}"
        own = (
            f' type="{rng.choice(["undirected", "mutual"]) if both else "directed"}"' if both == graph.directed else ""
        )
        weight = f' weight="{token}"' if token is not None else ""
        lines.append(f'<edge id="{number}" {ends}{own}{weight}/>')
    return "\n".join([*lines, "</edges></graph></gexf>"])


def encoded(rng: random.Random, text: str) -> bytes:
    """The text in an encoding of XML, with and without a declaration."""
    kind = rng.choice(["", "utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "us-ascii"])
    named = kind.removesuffix("-sig") or "utf-8"
    declared = f"<?xml version='1.0' encoding='{named}'?>\n" if kind else ""
    doctype = (
        "<!DOCTYPE graphml SYSTEM 'http://x.org/g.dtd'>" if kind and "<graphml" in text and rng.random() < 0.1 else ""
    )
    return (declared + doctype + text).encode(kind or "utf-8", "xmlcharrefreplace")


def broken(rng: random.Random, graph: Graph, write: Any) -> tuple[str, str]:
    """(what was done, the file) of a change after which nothing is a graph any more."""
    text = write(rng, Graph(["a", "b"], graph.directed, [(0, 1, not graph.directed, "2.5")]))
    what, old, new = rng.choice(
        [
            ("a node twice", 'id="b"', 'id="a"'),
            ("a node that is not there", 'target="b"', 'target="c"'),
            ("a node without an id", 'id="b"', 'name="b"'),
            ("an edge without a target", 'target="b"', ""),
            ("a weight that is no number", "2.5", "heavy"),
            ("a weight that is not finite", "2.5", "NaN"),
            ("a weight of INF", "2.5", "INF"),
            ("a weight that overflows", "2.5", "1e999"),
            ("an unknown direction", "directed", "sideways"),
            ("an unclosed element", "</", "<"),
            ("an entity", "2.5", "&weight;"),
            ("no end", text[len(text) // 2 :], ""),
            ("a byte that is not UTF-8", "2.5", "2.\udcff5"),
        ]
    )
    return (what, text.replace(old, new)) if old in text else ("a node twice", text.replace('id="b"', 'id="a"'))


def generate_as(kind: str, write: Any, rng: random.Random) -> Iterator[Case]:
    while True:
        graph = graph_of(rng)
        yield Case(kind, "a graph", encoded(rng, write(rng, graph)), meaning_of(graph))
        what, text = broken(rng, graph, write)
        yield Case(kind, what, text.encode("utf-8", "surrogateescape"), None)


def generate_graphml(rng: random.Random) -> Iterator[Case]:
    return generate_as("GraphML", graphml, rng)


def generate_gexf(rng: random.Random) -> Iterator[Case]:
    return generate_as("GEXF", gexf, rng)

"""GraphML and GEXF files that are refused: name → (file, words of the message)."""

from collections.abc import Callable

MIB = 2**20
NODES = '<node id="a"/><node id="b"/>'
KEY = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'


def graphml(inner: str, graph: str = 'edgedefault="directed"', before: str = KEY, head: str = "") -> bytes:
    return f"{head}<graphml>{before}<graph {graph}>{NODES}{inner}</graph></graphml>".encode()


def weighted(token: str) -> bytes:
    return graphml(f'<edge source="a" target="b"><data key="w">{token}</data></edge>')


def gexf(edges: str, graph: str = 'defaultedgetype="directed"') -> bytes:
    return f"<gexf><graph {graph}><nodes>{NODES}</nodes><edges>{edges}</edges></graph></gexf>".encode()


BOMB = "<!DOCTYPE graphml [" + "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "x"}">' for k in range(9)) + "]>"

GRAPHML = {
    "a bomb of entities": (graphml("<desc>&e8;</desc>", head=BOMB), "entities or attributes of its own"),
    "a file of the machine": (
        graphml("<desc>&f;</desc>", head='<!DOCTYPE graphml [<!ENTITY f SYSTEM "file:///etc/passwd">]>'),
        "entities or attributes of its own",
    ),
    "default attributes": (
        graphml("", head='<!DOCTYPE graphml [<!ATTLIST edge source CDATA "a">]>'),
        "entities or attributes of its own",
    ),
    "an entity": (graphml("<desc>&f;</desc>"), "damaged or cut"),
    "an entity of another file": (
        graphml("<desc>&f;</desc>", head='<!DOCTYPE graphml SYSTEM "http://x.org/x.dtd">'),
        "refers to the entity 'f'|damaged or cut",
    ),
    "no direction": (graphml("", graph=""), "edgedefault ''"),
    "an unknown direction": (graphml("", graph='edgedefault="sideways"'), "edgedefault 'sideways'"),
    "no graph": (b"<graphml></graphml>", "holds no graph"),
    "two graphs": (graphml('</graph><graph edgedefault="directed">'), "several graphs"),
    "a graph within a node": (graphml('<node id="c"><graph edgedefault="directed"/></node>'), "graph of its own"),
    "a hyperedge": (graphml('<hyperedge><endpoint node="a"/></hyperedge>'), "hyperedge"),
    "a node twice": (graphml('<node id="a"/>'), "stands for two nodes"),
    "a node without an id": (graphml("<node/>"), "no attribute id"),
    "an edge without a source": (graphml('<edge target="a"/>'), "no attribute source"),
    "an edge to nowhere": (graphml('<edge source="a" target="c"/>'), "'c', which is not a node"),
    "an edge of an unknown direction": (graphml('<edge source="a" target="b" directed="maybe"/>'), "directed 'maybe'"),
    "an edge without a weight": (
        graphml('<edge source="a" target="b"><data key="w">2</data></edge><edge source="b" target="a"/>'),
        "1 of 2 edges have no weight",
    ),
    "two weights": (
        graphml('<edge source="a" target="b"><data key="w">2</data><data key="w">2</data></edge>'),
        "two weights",
    ),
    "two keys named weight": (graphml("", before=KEY + KEY.replace('"w"', '"v"')), "Two keys"),
    "a key behind the graph": (
        graphml("").replace(KEY.encode(), b"").replace(b"</graph>", b"</graph>" + KEY.encode()),
        "behind the graph",
    ),
    "a weight that is no number": (weighted("heavy"), "'heavy' is not a decimal number"),
    "an empty weight": (weighted(""), "'' is not a decimal number"),
    "NaN": (weighted("NaN"), "not a decimal number"),
    "INF": (weighted("INF"), "not a decimal number"),
    "1e999": (weighted("1e999"), "overflows"),
    "1e-999": (weighted("1e-999"), "underflows"),
    "a weight of 5000 digits": (weighted("9" * 5000), "overflows"),
    "a default that is no number": (graphml("", before=KEY[:-2] + "><default>x</default></key>"), "'x' is not"),
    "a whole weight with a fraction": (
        weighted("2.5").replace(b"double", b"int"),
        "not a whole number",
    ),
    "a whole weight of 2^53 + 1": (weighted(str(2**53 + 1)).replace(b"double", b"long"), "beyond 2"),
    "weights that overflow": (
        graphml('<edge source="a" target="b"><data key="w">1e308</data></edge>' * 2),
        "overflows fp64",
    ),
    "an unclosed element": (graphml("<node id='c'>"), "damaged or cut"),
    "an unknown prefix": (graphml("<y:node/>"), "damaged or cut"),
    "text behind the end": (graphml("") + b"text", "damaged or cut"),
    "an unknown encoding": (graphml("", head='<?xml version="1.0" encoding="foo"?>'), "encoding"),
    "an encoding of several bytes": (graphml("", head='<?xml version="1.0" encoding="shift_jis"?>'), "encoding"),
    "bytes that are not UTF-8": (graphml("<node id='\xff'/>").replace("\xff".encode(), b"\xff"), "damaged or cut"),
    "NUL": (graphml("<node id='\0'/>"), "damaged or cut"),
    "half a file": (weighted("2")[:150], "damaged or cut"),
}

GEXF = {
    "no graph": (b"<gexf></gexf>", "holds no graph"),
    "over time": (gexf("", 'mode="dynamic"'), "changes over time"),
    "an unknown direction": (gexf("", 'defaultedgetype="sideways"'), "'sideways'"),
    "an edge of an unknown type": (gexf('<edge source="a" target="b" type="maybe"/>'), "'maybe'"),
    "an edge to nowhere": (gexf('<edge source="a" target="c"/>'), "'c', which is not a node"),
    "a weight that is no number": (gexf('<edge source="a" target="b" weight="heavy"/>'), "'heavy'"),
    "a node twice": (gexf("").replace(b'"b"', b'"a"'), "stands for two nodes"),
    "two graphs": (gexf("").replace(b"</gexf>", b"<graph/></gexf>"), "several graphs"),
}

BAD = {
    **{f"GraphML, {name}": case for name, case in GRAPHML.items()},
    **{f"GEXF, {k}": case for k, case in GEXF.items()},
}

LARGE: dict[str, Callable[[], bytes]] = {
    "GraphML 65 elements deep": lambda: graphml("<desc>" * 65 + "</desc>" * 65),
    "GraphML a million elements deep": lambda: graphml("<a>" * 1_000_000),
    "GraphML of a tag of 3 MB": lambda: graphml(f"<node id='{'x' * 3 * MIB}'/>"),
    "GraphML of a comment of 3 MB": lambda: graphml(f"<!--{'x' * 3 * MIB}-->"),
    "GraphML of 10,001 nodes": lambda: graphml("".join(f'<node id="{k}"/>' for k in range(10_001))),
    "GraphML of 1001 edges": lambda: graphml('<edge source="a" target="b"/>' * 1001),
    "GraphML of 501 edges for both directions": lambda: graphml(
        '<edge source="a" target="b"/>' * 501, 'edgedefault="undirected"'
    ),
    "GEXF of 1001 edges": lambda: gexf('<edge source="a" target="b"/>' * 1001),
    "GraphML of 5 MB of text": lambda: graphml(f"<desc>{'x' * 5 * MIB}</desc>"),
}

"""The bundle of all modules: each after those it imports, and nothing that a browser would not understand."""

import re

import pytest

from web import assets
from web.script_bundle import bundle


def test_a_module_comes_once_and_after_those_it_imports() -> None:
    modules = {
        "app.js": 'import { one } from "./one.js";\nimport { two } from "./two.js";\none(two);\n',
        "one.js": 'import { two } from "./two.js";\nexport function one() {\n  return two;\n}\n',
        "two.js": "const hidden = 1;\nexport const two = hidden;\n",
        "unused.js": "hidden();\n",
    }
    script = bundle(modules, "app.js")
    assert re.findall(r'modules\["(\w+\.js)"\] = ', script) == ["two.js", "one.js", "app.js"]
    assert 'const { two } = modules["two.js"];' in script
    assert "return { two };" in script
    assert "unused" not in script


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ({"app.js": 'import { a } from "./b.js";\n', "b.js": 'import { c } from "./app.js";\n'}, "each other"),
        ({"app.js": 'import * as all from "./b.js";\n', "b.js": ""}, "does not know"),
        ({"app.js": "export default 1;\n"}, "does not know"),
    ],
)
def test_what_a_bundle_cannot_be_made_of_is_refused(modules: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bundle(modules, "app.js")


def test_the_pages_have_one_script_beside_the_one_before_the_first_paint() -> None:
    script = assets.text(assets.SCRIPT)
    assert re.findall(r"^import\b.*", script, re.MULTILINE) == []
    assert 'modules["navigation.js"] = ' in script
    assert 'modules["app.js"] = ' in script

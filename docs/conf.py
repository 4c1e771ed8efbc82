"""Settings of the documentation site: `make docs` builds it into docs/_build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Generic, NewType, TypeVar

import numpy.typing
import typer
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from typer.cli import get_docs_for_click
from typer.main import get_command

HERE = Path(__file__).parent
Scalar = TypeVar("Scalar")
sys.path.insert(0, str(HERE.parent / "src"))


class NDArray(Generic[Scalar]):
    """Stands for numpy's in annotations, which would be shown as ndarray[tuple[Any, ...], ...]."""

    __module__ = "numpy.typing"


# Likewise, ArrayLike would be shown as all of its alternatives.
vars(numpy.typing).update(NDArray=NDArray, ArrayLike=NewType("ArrayLike", object))

import easee  # noqa: E402
import easee.cli  # noqa: E402

project = "EASEE"
author = "The EASEE developers"
project_copyright = author
version = release = easee.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "README.md"]  # index.rst includes README.md
highlight_language = "none"  # of blocks that name no language
default_role = "code"  # docstrings are written with single backticks
nitpicky = True
# Names of other projects: their inventories would have to be downloaded for every build.
nitpick_ignore_regex = [(r"py:.*", r"(?!easee).*")]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebook has its outputs; a test executes it

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "EASEE"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def add_commands(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the commands to the page about the command line, from the commands themselves."""
    if page != "reference/command_line":
        return
    group = get_command(easee.cli.app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=f"easee {name}")
        source[0] += get_docs_for_click(obj=command, ctx=context, name=f"easee {name}", indent=1)
    for file in Path(easee.cli.__file__).parent.glob("*.py"):
        app.env.note_dependency(str(file))


def skip_fields(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Skip the fields of named tuples, which their class describes."""
    return True if (member.__doc__ or "").startswith("Alias for field number") else None


def visit_math(self: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    self.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.connect("source-read", add_commands)
    app.connect("autodoc-skip-member", skip_fields)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))

"""The code blocks of the documentation: Python blocks run as they stand, commands exist."""

import importlib
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

import easee
from easee import priors
from easee.cli import app
from easee.experiments.registry import FIGURES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
MOST_STEPS = 300  # of training; the blocks themselves stay as the reader sees them


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def write_files(page, folder):
    """Write the files that a page shows: blocks without a language whose first line names them."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    for language, block in fenced:
        if not language and (name := re.match(r"# (\w+\.txt)\n", block)):
            (folder / name[1]).write_text(block)


@pytest.fixture
def short_training(monkeypatch):
    """Cut training, its evaluation and discovery short."""
    from stable_baselines3.common import evaluation

    from easee.agents.population.base import BasePopulation
    from easee.agents.sb3 import DQN, PPO

    def cut(method):
        return lambda self, steps=MOST_STEPS, **o: method(self, min(steps, MOST_STEPS), **o)

    for kind in (DQN, PPO):
        monkeypatch.setattr(kind, "learn", cut(kind.learn))
    monkeypatch.setattr(BasePopulation, "advance", cut(BasePopulation.advance))
    evaluate = evaluation.evaluate_policy
    monkeypatch.setattr(
        evaluation, "evaluate_policy", lambda *a, **o: evaluate(*a, **{**o, "n_eval_episodes": 1})
    )
    discover, verify, tune = easee.discover, easee.verify, easee.tune
    few = {"states": 20, "rollout": 500}
    monkeypatch.setattr(easee, "discover", lambda env, **o: discover(env, **{**o, **few}))
    monkeypatch.setattr(easee, "verify", lambda env, omega, **o: verify(env, omega, **{**o, **few}))
    brief = {"depths": (2, 4), "steps": 5_000}
    monkeypatch.setattr(easee, "tune", lambda env, omega, **o: tune(env, omega, **{**o, **brief}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_the_order_of_the_page(page, short_training, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_are_valid(page):
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")


def commands(page):
    """Return the words of each easee command in the shell blocks and code spans of a page."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"`(easee [a-z]+[^`]*)`", page.read_text())
    texts = [line.partition("#")[0].strip() for line in lines]
    return [shlex.split(text)[1:] for text in texts if text.startswith("easee ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    known = get_command(app).commands  # type: ignore[attr-defined]
    for name, *arguments in commands(page):
        assert name in known, f"{page.name}: easee {name}"
        options = {option for parameter in known[name].params for option in parameter.opts}
        for argument in arguments:
            if re.match(r"-[a-zA-Z-]", argument):
                assert argument in options, f"{page.name}: easee {name} {argument}"
        word = re.compile(r"[a-z][a-z0-9-]*")
        first = arguments[0] if arguments and word.fullmatch(arguments[0]) else None
        if name in ("run", "plot") and first:
            assert first in FIGURES, f"{page.name}: easee {name} {first}"
        if name in ("compile", "draw", "verify", "tune") and first:
            assert first in priors.names(), f"{page.name}: easee {name} {first}"


def test_some_commands_are_found():
    assert sum(len(commands(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_images_exist(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_prior_of_the_tutorial_is_that_of_its_figure(tmp_path):
    write_files(ROOT / "docs" / "tutorial.md", tmp_path)
    assert (tmp_path / "room.txt").read_text() == (ROOT / "docs" / "room.txt").read_text()


def test_every_page_is_in_the_contents_of_the_site():
    entries = re.findall(r"^   (?:.*<(\w+)>|(\w+))$", (ROOT / "docs/index.rst").read_text(), re.M)
    listed = sorted(first or second for first, second in entries)
    pages = [*(ROOT / "docs").glob("*.md"), NOTEBOOK]
    assert listed == sorted(page.stem for page in pages if page.stem != "README")


def test_the_front_page_links_to_every_page():
    text = (ROOT / "docs/README.md").read_text()
    for page in (*(ROOT / "docs").glob("*.md"), NOTEBOOK):
        assert f"]({page.name})" in text or page.name == "README.md", page.name


def reference():
    return "\n".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.rst"))


@pytest.mark.parametrize("name", sorted(set(easee.__all__) - {"envs", "priors"}))
def test_every_public_name_is_in_the_reference(name):
    module = "easee.errors" if name.endswith("Error") else f"easee.{name}"
    assert re.search(rf"^.. auto\w+:: {module}$", reference(), re.MULTILINE)


MODULES = ("priors", "envs", "envs.jax", "agents.sb3", "agents.population")


@pytest.mark.parametrize("module", [f"easee.{name}" for name in MODULES])
def test_every_public_name_of_a_module_is_in_the_reference(module):
    whole = f".. automodule:: {module}\n   :members:\n" in reference()
    for name in importlib.import_module(module).__all__:
        assert whole or f":: {module}.{name}\n" in reference(), name


def test_tables_show_the_committed_results():
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))
    for page in tables["PAGES"]:
        text = (ROOT / page).read_text()
        assert "<!-- table: " in text
        assert tables["with_tables"](page) == text, f"{page}: run `python docs/tables.py`"


def test_the_gallery_has_every_figure_that_has_results():
    text = (ROOT / "docs/gallery.md").read_text()
    for name in FIGURES:
        for picture in (ROOT / "results" / name).glob("*.png"):
            assert f"(../results/{name}/{picture.name})" in text
            assert f"easee run {name}" in text


# With memory, and with rounding errors.
VARIES = r"depth [\d,]+ fits|[\d,]+ characters of SVG|gap=[\d.e+-]+"


def outputs(notebook):
    """Return what each cell printed or returned as text, without what depends on the machine."""
    return [
        [re.sub(VARIES, "", str(o.get("text") or o.data["text/plain"])) for o in outs]
        for outs in (cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    ]


@pytest.mark.slow
def test_the_notebook_runs_and_prints_what_is_stored(monkeypatch):
    import nbformat

    monkeypatch.setenv("PYTHONWARNINGS", "error")
    execute = runpy.run_path(str(ROOT / "docs" / "run_notebook.py"))["execute"]
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert outputs(execute()) == outputs(stored)

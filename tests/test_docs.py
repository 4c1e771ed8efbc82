"""The code blocks of the documentation: Python blocks run as they stand, commands exist."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from easee import priors
from easee.cli import app
from easee.experiments.registry import FIGURES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_STEPS = 300  # of training; the blocks themselves stay as the reader sees them


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def short_training(monkeypatch):
    """Cut training and discovery short."""
    import easee
    from easee.agents.population.base import BasePopulation
    from easee.agents.sb3 import DQN, PPO

    def cut(method):
        return lambda self, steps=MOST_STEPS, **o: method(self, min(steps, MOST_STEPS), **o)

    for kind in (DQN, PPO):
        monkeypatch.setattr(kind, "learn", cut(kind.learn))
    monkeypatch.setattr(BasePopulation, "advance", cut(BasePopulation.advance))
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

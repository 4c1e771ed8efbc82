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
# What a page assumes that its reader has, such as an environment: only names, no library code.
READER_HAS = {
    "README.md": "from easee.envs import RotationGrid\nenv = RotationGrid(20)\n",
    "agents.md": "import easee\n",
}
# Pages whose blocks train for minutes, need a GPU, or show parts of a training loop.
NOT_RUN = {"population.md", "policy_gradients.md", "paper_learning.md"}
MOST_STEPS = 300  # of training; the blocks themselves stay as the reader sees them


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def short_training(monkeypatch):
    """Cut training and discovery short."""
    import easee
    from easee.agents.sb3 import DQN

    learn, discover, verify = DQN.learn, easee.discover, easee.verify

    def learn_briefly(model, total_timesteps, **options):
        return learn(model, min(total_timesteps, MOST_STEPS), **options)

    monkeypatch.setattr(DQN, "learn", learn_briefly)
    few = {"states": 20, "rollout": 500}
    monkeypatch.setattr(easee, "discover", lambda env, **o: discover(env, **{**o, **few}))
    monkeypatch.setattr(easee, "verify", lambda env, omega, **o: verify(env, omega, **{**o, **few}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_the_order_of_the_page(page, short_training, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = [] if page.name in NOT_RUN else blocks(page, "python")
    names: dict[str, object] = {}
    exec(READER_HAS.get(page.name, ""), names)
    for block in code:
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

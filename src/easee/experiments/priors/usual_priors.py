"""Pure exploration of MiniGrid with relations that usually hold: which share of episodes succeeds?

Every arm acts on stock MiniGrid tasks without learning. Observations are not computed, because no
explorer looks at them. Rates are measured on each task (`verify`), and so is the discovered prior.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from easee import priors
from easee._utils.extras import requires_extra
from easee.envs.minigrid import minigrid_state
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.explorers import deepest_policy, generator
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.plots import bars, panels
from easee.experiments.harness.statistics import Estimate, cell
from easee.explorers.baselines import UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy, compile
from easee.priors import MINIGRID_ACTIONS
from easee.priors.equivalences import Equivalences
from easee.probing.discover import discover
from easee.probing.significance import interval
from easee.probing.verify import verify
from easee.viz.style import METHODS, SMALL

TASKS = (
    "Empty-16x16", "FourRooms", "DoorKey-8x8", "DoorKey-16x16", "Unlock", "KeyCorridorS3R1",
    "RedBlueDoors-6x6",
)  # fmt: skip
EPISODES = 1024  # per run; four seeds make 4,096 per cell
DEPTH, EXACT_DEPTH = 20, 5
USUALLY = 0.1
FALSE = ("forward ~ @ 0.1", "left ~ right @ 0.1")
SUCCESS, COST = "success", "steps of discovery"
EXPLORERS = {
    "uniform": METHODS["uniform"].name,
    "zeta": METHODS["zeta"].name,
    "useful": METHODS["useful"].name,
    "useful-zeta": "same knowledge, temporally extended moves",
    "exact": f"EASEE, exact prior, depth {EXACT_DEPTH}",
    "floor-0.1": f"EASEE, usual prior, depth {DEPTH}, uniform floor 0.1",
    "floor-0.3": f"EASEE, usual prior, depth {DEPTH}, uniform floor 0.3",
    "floor-0.5": f"EASEE, usual prior, depth {DEPTH}, uniform floor 0.5",
    "usual": f"EASEE, usual prior, depth {DEPTH}, measured rates",
    "discovered": f"EASEE, discovered prior, depth {DEPTH}",
    "unmeasured": f"EASEE, usual prior, depth {DEPTH}, rates not measured",
    **{f"false {relation}": f"usual prior and the false relation {relation}" for relation in FALSE},
}

SHOWN = {  # in the picture: colour and short label
    "uniform": ("uniform", "uniform actions"),
    "zeta": ("zeta", "temporally extended"),
    "useful": ("useful", "knowledge, uniform moves"),
    "useful-zeta": ("useful", "knowledge, extended moves"),
    "exact": ("exact", "exact prior"),
    "floor-0.1": ("exact", "usual, floor 0.1"),
    "floor-0.3": ("exact", "usual, floor 0.3"),
    "floor-0.5": ("exact", "usual, floor 0.5"),
    "usual": ("usual", "usual prior"),
    "unmeasured": ("usual", "usual, not measured"),
    "discovered": ("discovered", "discovered prior"),
}


class _Acts(Protocol):
    """What an explorer of one environment does."""

    def sample_one(self) -> int: ...  # noqa: D102

    def step_one(self, action: int, done: bool) -> None: ...  # noqa: D102


class _UsefulMoves:
    """Interactions with the same probabilities as a policy's floors, moves by another explorer."""

    def __init__(self, policy: ExplorationPolicy, kind: type[Any], rng: np.random.Generator):
        self.rng, self.floors = rng, policy.floors
        self.moves = np.flatnonzero(policy.probabilities.any(axis=0)).tolist()
        self.explorer = kind(len(self.moves), seed=rng)

    def sample_one(self) -> int:
        """Return an interaction with its probability, a move otherwise."""
        drawn = int(np.searchsorted(np.cumsum(self.floors), self.rng.random(), side="right"))
        return drawn if drawn < len(self.floors) else self.moves[self.explorer.sample_one()]

    def step_one(self, action: int, done: bool) -> None:
        """Report a move; interactions do not interrupt a repetition of moves."""
        if done:
            self.explorer.reset()
        elif action in self.moves:
            self.explorer.step_one(self.moves.index(action), False)


def measure(run: Run) -> Measured:
    """Explore for some episodes; return the share of them that reach the goal."""
    task, name = run.settings["task"], run.settings["explorer"]
    env: Any = make_env(task).unwrapped
    explorer = _explorer(task, name, run.seed, generator(run))
    successes = 0
    for episode in range(EPISODES):
        env.reset(seed=run.seed * EPISODES + episode)
        done, reward = False, 0.0
        while not done:
            action = explorer.sample_one()
            _, reward, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
            explorer.step_one(action, done)
        successes += reward > 0
    rows = [(EPISODES, SUCCESS, successes / EPISODES)]
    if name == "discovered":
        rows.append((EPISODES, COST, float(_discovered(task, run.seed)[1])))
    return rows


def make_env(task: str) -> gym.Env[Any, Any]:
    """Return a stock MiniGrid task that computes no observations."""
    with requires_extra("minigrid"):
        import minigrid

    gym.register_envs(minigrid)
    env = gym.make(f"MiniGrid-{task}-v0", disable_env_checker=True)
    env.unwrapped.gen_obs = dict  # type: ignore[attr-defined]
    return env


def _explorer(task: str, name: str, seed: int, rng: np.random.Generator) -> _Acts:
    if name in ("uniform", "zeta"):
        kind = UniformExplorer if name == "uniform" else ZetaExplorer
        return kind(len(MINIGRID_ACTIONS), seed=rng)
    if name in ("useful", "useful-zeta"):
        kind = UniformExplorer if name == "useful" else ZetaExplorer
        return _UsefulMoves(_usual(task, seed), kind, rng)
    if name.startswith("floor-"):
        return Explorer(_usual(task, seed), seed=rng, floor=float(name.removeprefix("floor-")))
    return Explorer(_policy(task, name, seed), seed=rng)


def _policy(task: str, name: str, seed: int) -> ExplorationPolicy:
    if name == "exact":
        return compile(priors.get("minigrid"), EXACT_DEPTH)
    if name == "usual":
        return _usual(task, seed)
    if name == "discovered":
        return _discovered(task, seed)[0]
    omega = priors.get("minigrid-usual")
    more = [name.removeprefix("false ")] if name.startswith("false ") else []
    return compile(Equivalences(omega.actions, [omega, *more]), DEPTH)


@lru_cache(maxsize=8)
def _usual(task: str, seed: int) -> ExplorationPolicy:
    """Compile the prior written by hand, with the rates measured on a task."""
    omega = priors.get("minigrid-usual")
    return compile(
        verify(make_env(task), omega, state=minigrid_state, seed=seed).equivalences, DEPTH
    )


@lru_cache(maxsize=8)
def _discovered(task: str, seed: int) -> tuple[ExplorationPolicy, int]:
    """Compile the discovered prior, at the largest depth that fits; also return its steps."""
    found = discover(make_env(task), usually=USUALLY, state=minigrid_state, seed=seed)
    return deepest_policy(found.equivalences, DEPTH), found.env_steps


def estimates(rows: list[Row]) -> dict[tuple[str, str], Estimate]:
    """Return by task and explorer the share of successful episodes with its 95% interval."""
    counts: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.metric == SUCCESS:
            task, _, explorer = row.arm.partition("/")
            total = counts.setdefault((task, explorer), [0.0, 0.0])
            total[0] += row.value * row.step
            total[1] += row.step
    return {
        key: Estimate(wins / trials, *interval(round(wins), round(trials)))
        for key, (wins, trials) in counts.items()
    }


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each explorer, and the steps that discovery took."""
    found = estimates(rows)
    tasks = [task for task in TASKS if any(key[0] == task for key in found)]
    lines = [["share of episodes that reach the goal", *tasks]]
    for name, label in EXPLORERS.items():
        cells = [found.get((task, name)) for task in tasks]
        if any(cells):
            lines.append([label, *(cell(estimate, ".1%") for estimate in cells)])
    costs = {task: [r.value for r in rows if r.arm == f"{task}/discovered" and r.metric == COST]
             for task in tasks}  # fmt: skip
    if any(costs.values()):
        lines.append([COST, *(f"{np.mean(c):,.0f}" if c else "-" for c in costs.values())])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw one panel per task, with a bar per explorer."""
    found = estimates(rows)
    tasks = [task for task in TASKS if any(key[0] == task for key in found)]
    figure, axes, _ = panels(len(tasks), columns=4, height=3.9, sharey=True)
    for each, task in zip(axes, tasks, strict=True):
        shown = [name for name in SHOWN if (task, name) in found]
        percent = [Estimate(*(100 * x for x in found[task, name])) for name in shown]
        places = [list(SHOWN).index(name) for name in shown]
        bars(each, places, percent, [METHODS[SHOWN[name][0]] for name in shown], ".0f")
        each.set_title(task.replace("-", "-\n").replace("S3R1", "\nS3R1"), fontsize=SMALL)
        each.set_xticks([])
        each.spines["bottom"].set_visible(False)
    axes[0].set_yticks(range(len(SHOWN)), [label for _, label in SHOWN.values()])
    axes[0].invert_yaxis()
    figure.supxlabel("episodes that reach the goal, in percent, with 95% intervals")
    return {"usual": figure}


FIGURE = Figure(
    name="usual",
    title="success of pure exploration on MiniGrid with relations that usually hold",
    runs=runs_of(
        {f"{task}/{name}": {"task": task, "explorer": name} for task in TASKS for name in EXPLORERS}
    ),
    seeds=4,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config={"episodes": EPISODES, "depth": DEPTH, "usually": USUALLY},
)

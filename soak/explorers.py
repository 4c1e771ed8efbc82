"""Explorers against a plain model that keeps one node per environment, with invalid calls between.

Every valid call must do what the model does. Every invalid call must raise an error of the library
and leave the explorer as it was. Equal seeds must give equal actions, however a call is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import easee
from easee import ExplorationPolicy, priors
from easee.errors import EaseeError
from easee.explorers.base import BaseExplorer
from soak.attack import Attack, Case, Counts, Finding, expect

PRIORS = {"cardinal-grid": 4, "rotation-grid-complete": 6, "catcher": 5, "doorkey-usual": 3}
KINDS = ("easee", "uniform", "zeta", "tabu")
OPERATIONS = ("sample", "choose", "step", "step", "step", "reset", "restore", "invalid")


@cache
def _policy(prior: str) -> ExplorationPolicy:
    return easee.compile(priors.get(prior), PRIORS[prior])


def draw(rng: np.random.Generator) -> Case:
    """Draw an explorer and a sequence of operations, with a seed for their arguments."""
    return {
        "prior": str(rng.choice(list(PRIORS))),
        "kind": str(rng.choice(KINDS, p=[0.55, 0.15, 0.15, 0.15])),
        "n_envs": int(rng.choice([1, 1, 2, 3, 8])),
        "floor": [None, 0.0, 0.3][rng.integers(3)],
        "seed": int(rng.integers(2**32)),
        "operations": rng.choice(OPERATIONS, int(rng.integers(5, 60))).tolist(),
    }


def make(case: Case) -> BaseExplorer:
    """Return the explorer of a case."""
    omega, n_envs, seed = priors.get(case["prior"]), case["n_envs"], case["seed"]
    if case["kind"] == "easee":
        return easee.Explorer(_policy(case["prior"]), n_envs, seed, case["floor"])
    if case["kind"] == "tabu":
        return easee.TabuExplorer(omega, n_envs, seed)
    kind = {"uniform": easee.UniformExplorer, "zeta": easee.ZetaExplorer}[case["kind"]]
    return kind(len(omega.actions), n_envs, seed)


class Model:
    """The node of each environment, in plain Python."""

    def __init__(self, case: Case) -> None:
        self.graph = _policy(case["prior"]).graph
        self.nodes = [0] * case["n_envs"]
        self.lengths = [0] * case["n_envs"]

    def step(self, actions: list[int], dones: list[bool]) -> None:
        """Move every environment."""
        for env, (action, done) in enumerate(zip(actions, dones, strict=True)):
            self.nodes[env] = int(self.graph.successors[self.nodes[env], action])
            self.lengths[env] += 1
            ended = self.graph.ends[self.nodes[env]] or self.lengths[env] >= self.graph.depth
            if done or ended:
                self.nodes[env] = self.lengths[env] = 0

    def reset(self, which: list[bool]) -> None:
        """Return some environments to the empty word."""
        for env, chosen in enumerate(which):
            if chosen:
                self.nodes[env] = self.lengths[env] = 0


class Trial:
    """An explorer, its twin, whose calls are written differently, and the model of both."""

    def __init__(self, case: Case) -> None:
        self.explorer, self.twin, self.model = make(case), make(case), Model(case)
        self.easee = case["kind"] == "easee"
        self.rng = np.random.default_rng(case["seed"])
        self.n, self.k = self.explorer.n_envs, self.explorer.n_actions
        self.case = case

    def mask(self) -> Any:
        """Draw a mask that allows something, or None."""
        if self.rng.random() < 0.5:
            return None
        mask = self.rng.random((self.n, self.k)) < 0.6
        mask[np.arange(self.n), self.rng.integers(0, self.k, self.n)] = True
        return mask

    def sample(self) -> None:
        """Sample with and without a mask; the twin gets the mask in another form."""
        mask = self.mask()
        other = np.ones(self.k, bool) if mask is None else mask.astype(int).tolist()
        probabilities = None if self.case["kind"] == "zeta" else self.explorer.probabilities(mask)
        actions, same = self.explorer.sample(mask), self.twin.sample(other)
        self._check_actions(actions, mask)
        written = f"{self.case['kind']}: sample depends on how the mask is written"
        expect((actions == same).all(), written)
        if probabilities is not None:
            chosen = probabilities[np.arange(self.n), actions]
            expect((chosen > 0).all(), "an action of probability 0 was sampled")
            expect(np.allclose(probabilities.sum(axis=1), 1.0), "probabilities do not sum to 1")
        self._step(actions.tolist(), [False] * self.n)

    def choose(self) -> None:
        """Choose actions; the twin gets a function and an array of epsilons."""
        greedy = self.rng.integers(0, self.k, self.n)
        epsilon = float(self.rng.choice([0.0, 0.3, 1.0]))
        mask = self.mask()
        actions = self.explorer.choose(greedy, epsilon, mask)
        same = self.twin.choose(lambda: greedy.tolist(), np.full(self.n, epsilon), mask)
        written = f"{self.case['kind']}: choose depends on how its arguments are written"
        expect((actions == same).all(), written)
        explored = self.explorer.explored
        expect(explored.dtype == bool and explored.shape == (self.n,), "explored has another type")
        expect((actions == greedy)[~explored].all(), "a greedy action was replaced")
        if epsilon == 0.0 and self.case["kind"] != "zeta":
            expect(not explored.any(), "explored with epsilon 0")
        self._step(actions.tolist(), [False] * self.n)

    def step(self) -> None:
        """Take random actions."""
        actions = self.rng.integers(0, self.k, self.n).tolist()
        self._step(actions, (self.rng.random(self.n) < 0.2).tolist())

    def reset(self) -> None:
        """Reset some environments."""
        which = (self.rng.random(self.n) < 0.5).tolist()
        for explorer in (self.explorer, self.twin):
            explorer.reset(np.array(which))
        self.model.reset(which)

    def restore(self) -> None:
        """Continue with a new explorer from a saved state."""
        state = self.explorer.state_dict()
        self.explorer = make(self.case)
        self.explorer.sample()
        self.explorer.load_state_dict(state)

    def invalid(self) -> None:
        """Make an invalid call, which must change nothing."""
        calls = invalid_calls(self.explorer)
        name, call = list(calls.items())[self.rng.integers(len(calls))]
        before = _frozen(self.explorer.state_dict())
        try:
            call()
        except EaseeError:
            pass
        except Exception as error:
            kind = type(error).__name__
            raise Finding(f"{name} raised {kind}, which is no error of the library") from error
        else:
            raise Finding(f"{name} was accepted")
        expect(_frozen(self.explorer.state_dict()) == before, f"{name} failed, but changed it")

    def _step(self, actions: list[int], dones: list[bool]) -> None:
        self.explorer.step(np.array(actions), np.array(dones))
        self.twin.step(actions, dones)
        self.model.step(actions, dones)
        self.check_nodes()

    def check_nodes(self) -> None:
        """Compare the nodes with those of the model."""
        if isinstance(self.explorer, easee.Explorer):
            nodes = self.explorer.nodes
            expect(nodes.dtype == np.int64, f"nodes have become {nodes.dtype}")
            expect(nodes.tolist() == self.model.nodes, "the nodes are not those of the model")
            lengths = self.explorer.lengths.tolist()
            expect(lengths == self.model.lengths, "the lengths are not those of the model")

    def _check_actions(self, actions: Any, mask: Any) -> None:
        expect(actions.dtype == np.int64 and actions.shape == (self.n,), "actions of another type")
        allowed = np.ones((self.n, self.k), bool) if mask is None else mask
        expect(allowed[np.arange(self.n), actions].all(), "an action was taken that is masked")


def _frozen(state: dict[str, Any]) -> str:
    """Return a state as text, for comparison."""
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items()}
    return repr(plain)


def invalid_calls(explorer: Any) -> dict[str, Callable[[], object]]:
    """Return calls that must be rejected, by description."""
    n, k = explorer.n_envs, explorer.n_actions
    state = explorer.state_dict()
    ragged = [[0], [0, 1]]
    return {
        "step(ragged list)": lambda: explorer.step(ragged),
        "step(too large action)": lambda: explorer.step([0] * (n - 1) + [k]),
        "step(negative action)": lambda: explorer.step([0] * (n - 1) + [-1]),
        "step(10**30)": lambda: explorer.step([0] * (n - 1) + [10**30]),
        "step(fractions)": lambda: explorer.step([0.5] * n),
        "step(None)": lambda: explorer.step(None),
        "step(too many)": lambda: explorer.step([0] * (n + 1)),
        "step(ragged dones)": lambda: explorer.step([0] * n, ragged),
        "step(dones as text)": lambda: explorer.step([0] * n, ["no"] * n),
        "step(dones of 2)": lambda: explorer.step([0] * n, [2] * n),
        "choose(ragged list)": lambda: explorer.choose(ragged, 0.5),
        "choose(ragged epsilon)": lambda: explorer.choose([0] * n, ragged),
        "choose(epsilon 1.5)": lambda: explorer.choose([0] * n, 1.5),
        "choose(epsilon nan)": lambda: explorer.choose([0] * n, float("nan")),
        "choose(ragged mask)": lambda: explorer.choose([0] * n, 0.5, ragged),
        "sample(ragged mask)": lambda: explorer.sample(ragged),
        "sample(empty mask)": lambda: explorer.sample([False] * k),
        "sample(mask as text)": lambda: explorer.sample(["a"] * k),
        "probabilities(ragged mask)": lambda: explorer.probabilities(ragged),
        "reset(text)": lambda: explorer.reset("nonsense"),
        "reset(ragged list)": lambda: explorer.reset(ragged),
        "reset(too many)": lambda: explorer.reset([True] * (n + 1)),
        "reseed(text)": lambda: explorer.reseed("x"),
        "load_state_dict(None)": lambda: explorer.load_state_dict(None),
        "load_state_dict(array as a scalar)": lambda: explorer.load_state_dict(
            state | {"n_envs": np.array([n, n])}
        ),
        "load_state_dict(array as text)": lambda: explorer.load_state_dict(
            state | {"kind": np.array(["a", "b"])}
        ),
        "load_state_dict(uniforms as array)": lambda: explorer.load_state_dict(
            state | {"uniforms": np.array([[0.5], [2.0]])}
        ),
        "load_state_dict(rng as array)": lambda: explorer.load_state_dict(
            state | {"rng": np.zeros(3)}
        ),
        "n_envs=10**30": lambda: easee.UniformExplorer(k, n_envs=10**30).sample(),
        "n_actions=10**30": lambda: easee.UniformExplorer(10**30),
        "TabuExplorer(n_envs=10**30)": lambda: easee.TabuExplorer(
            easee.inverse("a", "b"), n_envs=10**30
        ),
        "ZetaExplorer(n_envs=10**30)": lambda: easee.ZetaExplorer(k, n_envs=10**30),
    }


def check(case: Case) -> Counts:
    """Do the operations of a case."""
    trial = Trial(case)
    for operation in case["operations"]:
        getattr(trial, operation)()
        trial.check_nodes()
    return {"operations": len(case["operations"])}


ATTACK = Attack("explorers", "explorers against a plain model, with invalid calls", draw, check)

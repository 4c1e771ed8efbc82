"""Rewards for novel states, added to the environment's when a run learns.

They need no prior: a count of visited states (Strehl and Littman, 2008), and random network
distillation (Burda et al., 2019). Both are computed when a transition is sampled, so that what is
no longer novel is no longer rewarded. A bonus is a hashable constant; its state is a tree of
arrays.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from easee._utils.checks import checked_count
from easee.agents.population.networks import Network, Params, check_hidden
from easee.envs.jax import World
from easee.errors import ArgumentError

MOST_BINS = 2**30  # of a count bonus
MIX = np.uint32(0x9E3779B1)  # odd, near 2**32 divided by the golden ratio


class Bonus(Protocol):
    """A reward for novel states."""

    def init(self, key: Array, world: World) -> Any:
        """Return the initial state of a run."""

    def visit(self, state: Any, packed: Any) -> Any:
        """Return the state after steps that led to packed states of the world, (n, ...)."""

    def rewards(self, state: Any, world: World, packed: Any) -> tuple[Any, Array]:
        """Return the state after learning from packed states (count, n), and their rewards."""


@dataclass(frozen=True)
class NoBonus:
    """No reward for novelty."""

    def init(self, key: Array, world: World) -> tuple[()]:
        """Return an empty state."""
        return ()

    def visit(self, state: tuple[()], packed: Any) -> tuple[()]:
        """Do nothing."""
        return ()

    def rewards(self, state: tuple[()], world: World, packed: Any) -> tuple[tuple[()], Array]:
        """Return 0."""
        return (), jnp.zeros(())


NO_BONUS = NoBonus()


@dataclass(frozen=True)
class CountBonus:
    """A reward of `weight / sqrt(n)` for a state that was visited n times.

    States are counted in a table, by a hash of what the agent observes.

    Args:
        weight: reward of a state visited once.
        bins: size of the table, a power of two; states that share a bin are counted together.

    >>> bonus = CountBonus(weight=0.5)
    >>> counts = bonus.init(jax.random.key(0), None)
    >>> for _ in range(4):
    ...     counts = bonus.visit(counts, jnp.array([[3, 4]]))
    >>> bonus.rewards(counts, None, jnp.array([[[3, 4]], [[4, 3]]]))[1].tolist()
    [[0.25], [0.5]]
    """

    weight: float = 0.1
    bins: int = 2**18

    def __post_init__(self) -> None:
        check_positive(self.weight, "weight")
        if checked_count(self.bins, "bins", 2) & (self.bins - 1) or self.bins > MOST_BINS:
            raise ArgumentError(
                f"expected bins as a power of two of at most {MOST_BINS:,}, found {self.bins:,}"
            )

    def init(self, key: Array, world: World) -> Array:
        """Return counts of 0, int (bins,)."""
        return jnp.zeros(self.bins, jnp.int32)

    def visit(self, state: Array, packed: Any) -> Array:
        """Count some states."""
        return state.at[jax.vmap(self._bin)(packed)].add(1)

    def rewards(self, state: Array, world: World, packed: Any) -> tuple[Array, Array]:
        """Return the rewards by the counts so far."""
        counts = state[jax.vmap(jax.vmap(self._bin))(packed)]
        return state, self.weight / jnp.sqrt(jnp.maximum(counts, 1.0))

    def _bin(self, packed: Any) -> Array:
        """Return the bin of a packed state, int ()."""
        leaves = [jnp.ravel(leaf).astype(jnp.uint32) for leaf in jax.tree.leaves(packed)]
        values = jnp.concatenate(leaves)
        factors = np.random.default_rng(0).integers(2**31, size=len(values), dtype=np.uint32)
        total = ((values + 1) * jnp.asarray(2 * factors + 1)).sum(dtype=jnp.uint32)
        mixed = (total ^ (total >> 15)) * MIX
        return (mixed >> (32 - int(self.bins).bit_length() + 1)).astype(jnp.int32)


class RndState(NamedTuple):
    """The weights of both networks, the state of Adam, and the mean of all errors so far."""

    target: Params
    predictor: Params
    adam: Any
    mean: Array
    updates: Array


@dataclass(frozen=True)
class RndBonus:
    """Random network distillation: a reward for observations that a predictor does not know yet.

    A predictor learns the outputs of a fixed random network. Its squared error, divided by the
    mean of all errors so far, is the reward.

    Args:
        weight: reward of an observation with the mean error.
        hidden: units of the hidden layers of both networks.
        features: number of outputs.
        learning_rate: of the predictor, which learns from the batches of the agent.
    """

    weight: float = 0.01
    hidden: tuple[int, ...] = (64,)
    features: int = 32
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_positive(self.weight, "weight")
        check_positive(self.learning_rate, "learning_rate")
        checked_count(self.features, "features")
        check_hidden(self.hidden)

    @property
    def _network(self) -> Network:
        return Network(hidden=self.hidden)

    def init(self, key: Array, world: World) -> RndState:
        """Return random weights."""
        shape = (int(np.prod(world.observation_shape)),)
        keys = jax.random.split(key)
        target, predictor = (self._network.init(k, shape, self.features) for k in keys)
        adam = optax.adam(self.learning_rate).init(predictor)
        return RndState(target, predictor, adam, jnp.zeros(()), jnp.zeros(()))

    def visit(self, state: RndState, packed: Any) -> RndState:
        """Do nothing: the predictor learns from batches."""
        return state

    def rewards(self, state: RndState, world: World, packed: Any) -> tuple[RndState, Array]:
        """Return the rewards before the predictor learns from the same states."""
        count, n = jax.tree.leaves(packed)[0].shape[:2]
        flat = jax.tree.map(lambda leaf: leaf.reshape(count * n, *leaf.shape[2:]), packed)
        observations = jax.vmap(world.unpack)(flat).reshape(count * n, -1)
        goal = self._network.apply(state.target, observations)

        def errors(predictor: Params) -> tuple[Array, Array]:
            error = jnp.square(self._network.apply(predictor, observations) - goal).mean(axis=1)
            return error.mean(), error

        gradient, error = jax.grad(errors, has_aux=True)(state.predictor)
        changes, adam = optax.adam(self.learning_rate).update(gradient, state.adam)
        predictor = optax.apply_updates(state.predictor, changes)
        updates = state.updates + 1
        mean = state.mean + (error.mean() - state.mean) / updates
        reward = self.weight * (error / (mean + 1e-8)).reshape(count, n)
        return RndState(state.target, predictor, adam, mean, updates), reward


def check_positive(value: float, name: str) -> None:
    """Check that a parameter of a bonus is a positive number."""
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < np.inf:
        raise ArgumentError(f"expected {name} as a positive number, found {value!r}")

"""Explorers for JAX: pure functions of arrays, for use under jit, vmap and scan.

An explorer is data, a `Tables`. The functions are the same for all: what the arms of a comparison
differ in can be stacked and mapped over. An exploratory action is drawn at the node's row and
repeated for a number of steps, which is 1 but for temporally extended epsilon-greedy.

    tables = from_policy(policy)
    state = init(n_envs)
    state, actions = sample(tables, state, key)  # or choose(..., greedy, epsilon)
    state = step(tables, state, actions, dones)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, MissingExtraError
from easee.explorers.baselines import checked_exponent
from easee.explorers.easee import Explorer
from easee.explorers.sampling import cumulative_rows
from easee.policy import ExplorationPolicy

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None

LONGEST = 181**2  # steps of one repetition; what is drawn above that, 1 in 54,000, is cut


class Tables(NamedTuple):
    """What an explorer follows.

    Attributes:
        probabilities: float (n, k), of the exploratory action at each node.
        cumulative: float (n, k), their distribution functions.
        following: int (n, k), the node after an action; -1 where it starts again.
        depth: int (), after how many actions it starts again anyway.
        durations: float (b * b,), the distribution function of the number of repetitions.
    """

    probabilities: Array
    cumulative: Array
    following: Array
    depth: Array
    durations: Array

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return int(self.cumulative.shape[-1])


class State(NamedTuple):
    """Where explorers are, one for each environment.

    Attributes:
        nodes: int, the node of the actions taken since the last reset.
        lengths: int, how many those are.
        repeated: int, the exploratory action that was drawn last.
        remaining: int, how often it is still to be repeated.
    """

    nodes: Array
    lengths: Array
    repeated: Array
    remaining: Array


class Uniforms(NamedTuple):
    """The random numbers of a step, each in [0, 1): for the coin, the action and its duration."""

    coin: Array
    action: Array
    duration: Array


def from_policy(policy: ExplorationPolicy, floor: float = 0.0) -> Tables:
    """Return the tables of an exploration policy; `floor` as in `easee.Explorer`.

    >>> from easee.priors.builders import inverse
    >>> from easee.policy import compile
    >>> tables = from_policy(compile(inverse("left", "right"), depth=4))
    >>> state = step(tables, init(2), jnp.array([0, 1]))
    >>> sample(tables, state, jax.random.key(0))[1]  # nobody turns back
    Array([0, 1], dtype=int32)
    """
    core = Explorer(policy, floor=floor)
    return _tables(core._probabilities, core._next, policy.graph.depth, np.ones(1))


def uniform(n_actions: int) -> Tables:
    """Return the explorer for which every action is as likely as any other."""
    return _memoryless(n_actions, np.ones(1))


def zeta(n_actions: int, mu: float = 2.0) -> Tables:
    """Return temporally extended epsilon-greedy; see `easee.explorers.baselines.ZetaExplorer`."""
    chances = np.arange(1, LONGEST + 1) ** -checked_exponent(mu)
    # The exact sum of all, the endless tail included, makes the first ones right.
    tail = LONGEST ** (1 - mu) / (mu - 1) - LONGEST**-mu / 2
    durations = np.cumsum(chances) / (chances.sum() + tail)
    durations[-1] = 1.0
    return _memoryless(n_actions, durations)


def _memoryless(n_actions: int, durations: NDArray[np.float64]) -> Tables:
    k = checked_count(n_actions, "n_actions")
    return _tables(np.full((1, k), 1.0 / k), np.full((1, k), -1), 1, durations)


def _tables(
    probabilities: NDArray[np.float64],
    following: NDArray[Any],
    depth: int,
    durations: NDArray[np.float64],
) -> Tables:
    return Tables(
        jnp.asarray(probabilities),
        _rounded_up(cumulative_rows(probabilities)),
        jnp.asarray(following, jnp.int32),
        jnp.asarray(depth, jnp.int32),
        _rounded_up(durations),
    )


def _rounded_up(values: NDArray[np.float64]) -> Array:
    """Return JAX's floats, not below the given ones.

    A uniform of that precision is below the result exactly if it is below the value itself, so the
    actions are those of the core.
    """
    found = np.asarray(values, jnp.zeros(0).dtype)
    return jnp.asarray(np.where(found < values, np.nextafter(found, np.inf), found))


def stack(explorers: Sequence[Tables]) -> Tables:
    """Return several explorers as one, with a new first axis to map over; all get one shape.

    Raises:
        ArgumentError: they differ in the number of actions, or there are none.
    """
    counts = {tables.n_actions for tables in explorers}
    if len(counts) != 1:
        raise ArgumentError(
            f"expected explorers with the same number of actions, found {sorted(counts)}"
        )
    nodes = max(tables.cumulative.shape[0] for tables in explorers)
    longest = max(tables.durations.shape[0] for tables in explorers)

    def padded(tables: Tables) -> Tables:
        more = nodes - tables.cumulative.shape[0]
        rows = ((0, more), (0, 0))
        return Tables(
            jnp.pad(tables.probabilities, rows),
            jnp.pad(tables.cumulative, rows, constant_values=1.0),
            jnp.pad(tables.following, rows, constant_values=-1),
            tables.depth,
            jnp.pad(
                tables.durations, (0, longest - tables.durations.shape[0]), constant_values=1.0
            ),
        )

    stacked: Tables = jax.tree.map(lambda *arrays: jnp.stack(arrays), *map(padded, explorers))
    return stacked


def init(n_envs: int | tuple[int, ...] = ()) -> State:
    """Return the state at the empty word, for so many environments; () is a single one."""
    return State(*(jnp.zeros(n_envs, jnp.int32) for _ in State._fields))


def uniforms(key: Array, n_envs: int | tuple[int, ...] = ()) -> Uniforms:
    """Draw the random numbers of a step."""
    shape = n_envs if isinstance(n_envs, tuple) else (n_envs,)
    return Uniforms(*jax.random.uniform(key, (3, *shape)))


def sample(
    tables: Tables, state: State, key: Array | Uniforms, mask: Array | None = None
) -> tuple[State, Array]:
    """Return the state and an exploratory action for every environment.

    Args:
        tables: the explorer.
        state: where it is.
        key: of `jax.random`, or the random numbers themselves.
        mask: bool (k,) or (..., k), the actions that are allowed; at least one.
    """
    state, actions, _ = choose(tables, state, state.nodes, 1.0, key, mask)
    return state, actions


def choose(
    tables: Tables,
    state: State,
    greedy: Array,
    epsilon: Array | float,
    key: Array | Uniforms,
    mask: Array | None = None,
) -> tuple[State, Array, Array]:
    """Return the state, epsilon-greedy actions, and which of them are exploratory.

    Args:
        tables: the explorer.
        state: where it is.
        greedy: int, what to do when not exploring.
        epsilon: the chance to explore, for all or for each environment.
        key: of `jax.random`, or the random numbers themselves.
        mask: bool (k,) or (..., k), the actions that exploration may take.
    """
    drawn = key if isinstance(key, Uniforms) else uniforms(key, state.nodes.shape)
    remaining = state.remaining
    if mask is not None:
        mask = jnp.broadcast_to(jnp.asarray(mask, bool), (*state.nodes.shape, tables.n_actions))
        allowed = jnp.take_along_axis(mask, state.repeated[..., None], axis=-1)[..., 0]
        remaining = jnp.where(allowed, remaining, 0)
    goes_on = remaining > 0
    explores = goes_on | (drawn.coin < epsilon)
    fresh = explores & ~goes_on
    action = _draw(_row(tables, state.nodes, mask), drawn.action)
    more = _find(tables.durations, drawn.duration)
    repeated = jnp.where(fresh, action, state.repeated)
    remaining = jnp.where(fresh, more, jnp.maximum(remaining - goes_on, 0))
    chosen = jnp.where(explores, repeated, greedy).astype(jnp.int32)
    return state._replace(repeated=repeated, remaining=remaining), chosen, explores


def _row(tables: Tables, nodes: Array, mask: Array | None) -> Array:
    """Return the distribution functions at nodes, of what a mask allows."""
    if mask is None:
        return tables.cumulative[nodes]
    allowed = jnp.where(mask, tables.probabilities[nodes], 0.0)
    allowed = jnp.where(allowed.sum(-1, keepdims=True) > 0, allowed, mask)
    sums = jnp.cumsum(allowed, axis=-1)
    sums = sums / sums[..., -1:]
    # Rounding must not leave a large uniform without an action.
    possible = jnp.asarray(allowed > 0, jnp.int32)
    later = jnp.cumsum(possible[..., ::-1], axis=-1)[..., ::-1] - possible
    return jnp.where(later == 0, 1.0, sums)


def _find(sums: Array, uniform: Array) -> Array:
    """Return how many of b * b sorted numbers are not above a uniform.

    First in which block of b, then where there. A binary search would be a loop of small kernels on
    a GPU.
    """
    blocks = sums.reshape(math.isqrt(len(sums)), -1)
    block = (blocks[:, -1] <= uniform[..., None]).sum(-1, dtype=jnp.int32)
    row = blocks[jnp.minimum(block, len(blocks) - 1)]
    return block * len(blocks) + (row <= uniform[..., None]).sum(-1, dtype=jnp.int32)


def _draw(cumulative: Array, uniform: Array) -> Array:
    return jnp.argmax(cumulative > uniform[..., None], axis=-1).astype(jnp.int32)


def step(tables: Tables, state: State, actions: Array, dones: Array | bool = False) -> State:
    """Return the state after actions, wherever they came from, and where the episode ended.

    A repetition ends with the episode, and when another action than the repeated one is taken.
    """
    nodes = tables.following[state.nodes, actions]
    lengths = state.lengths + 1
    start = (nodes < 0) | (lengths >= tables.depth) | dones
    goes_on = (actions == state.repeated) & ~jnp.asarray(dones)
    return State(
        jnp.where(start, 0, nodes),
        jnp.where(start, 0, lengths),
        state.repeated,
        jnp.where(goes_on, state.remaining, 0),
    )

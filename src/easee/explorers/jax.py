"""Explorers for JAX: pure functions of arrays, for use under jit, vmap and scan.

The functions are the same for all explorers, so the `Tables` of several can be stacked and mapped
over. An exploratory action is drawn from the row of the current node and repeated for a number of
steps, which is 1 except for temporally extended epsilon-greedy.

::

    tables = from_policy(policy)
    state = init(n_envs)
    state, actions = sample(tables, state, key)  # or choose(..., greedy, epsilon)
    state = step(tables, state, actions, dones)
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.extras import requires_extra
from easee.errors import ArgumentError
from easee.explorers.baselines import checked_exponent
from easee.explorers.table import Floor, PolicyTable
from easee.policy_text import AnyPolicy, as_policy

with requires_extra("jax"):
    import jax
    import jax.numpy as jnp
    from jax import Array

LONGEST = 181**2  # steps of one repetition; longer draws, 1 in 54,000, are cut


class Tables(NamedTuple):
    """The arrays of an explorer.

    Attributes:
        probabilities: float (n, k), of exploratory actions at each node.
        cumulative: float (n, k), their cumulative sums.
        next_nodes: int (n, k), the node after each action; -1 where the walk restarts.
        depth: int (), number of actions after which the walk restarts.
        durations: float (b * b,), cumulative distribution of the number of repetitions.
    """

    probabilities: Array
    cumulative: Array
    next_nodes: Array
    depth: Array
    durations: Array

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return int(self.cumulative.shape[-1])


class State(NamedTuple):
    """The state of an explorer, int (n_envs,) each.

    Attributes:
        nodes: node of each environment.
        lengths: number of actions since the last restart.
        repeated: exploratory action drawn last.
        remaining: number of repetitions left.
    """

    nodes: Array
    lengths: Array
    repeated: Array
    remaining: Array


class Uniforms(NamedTuple):
    """The random numbers of a step in [0, 1), float (n_envs,) each.

    Attributes:
        coin: decides whether to explore.
        action: selects the exploratory action.
        duration: selects its number of repetitions.
    """

    coin: Array
    action: Array
    duration: Array


def from_policy(policy: AnyPolicy, floor: Floor = None) -> Tables:
    """Return the tables of an exploration policy; `floor` as in `easee.Explorer`.

    A policy may be a string such as "doorkey:6", see `easee.read_policy`.

    >>> from easee.priors.builders import inverse
    >>> from easee.policy import compile
    >>> tables = from_policy(compile(inverse("left", "right"), depth=4))
    >>> state = step(tables, init(2), jnp.array([0, 1]))
    >>> sample(tables, state, jax.random.key(0))[1]  # neither turns back
    Array([0, 1], dtype=int32)
    """
    return _tables(PolicyTable.from_policy(as_policy(policy), floor), np.ones(1))


def uniform(n_actions: int) -> Tables:
    """Return the tables of uniform exploration."""
    return _tables(PolicyTable.uniform(n_actions), np.ones(1))


def fixed(probabilities: ArrayLike) -> Tables:
    """Return the tables of independent actions with given probabilities, float (k,)."""
    return _tables(PolicyTable.fixed(probabilities), np.ones(1))


def zeta(n_actions: int, mu: float = 2.0) -> Tables:
    """Return temporally extended epsilon-greedy; see `easee.explorers.baselines.ZetaExplorer`."""
    weights = np.arange(1, LONGEST + 1) ** -checked_exponent(mu)
    # Normalise by the sum of the infinite series: only the longest duration absorbs the cut tail.
    tail = LONGEST ** (1 - mu) / (mu - 1) - LONGEST**-mu / 2
    durations = np.cumsum(weights) / (weights.sum() + tail)
    durations[-1] = 1.0
    return _tables(PolicyTable.uniform(n_actions), durations)


def _tables(table: PolicyTable, durations: NDArray[np.float64]) -> Tables:
    return Tables(
        jnp.asarray(table.probabilities),
        _rounded_up(table.cumulative),
        jnp.asarray(table.next_nodes, jnp.int32),
        jnp.asarray(table.depth, jnp.int32),
        _rounded_up(durations),
    )


def _rounded_up(values: NDArray[np.float64]) -> Array:
    """Return values in JAX's precision, rounded up so that the actions are the same as with NumPy.

    A uniform of that precision is below the result exactly if it is below the original value.
    """
    rounded = np.asarray(values, jnp.zeros(0).dtype)
    return jnp.asarray(np.where(rounded < values, np.nextafter(rounded, np.inf), rounded))


def stack(explorers: Sequence[Tables]) -> Tables:
    """Return several explorers as one, padded to a common shape, with a new first axis to map over.

    Raises:
        ArgumentError: the explorers differ in the number of actions, or there are none.
    """
    counts = sorted({tables.n_actions for tables in explorers})
    if len(counts) != 1:
        raise ArgumentError(f"expected explorers with the same number of actions, found {counts}")
    n_nodes = max(len(tables.cumulative) for tables in explorers)
    n_durations = max(len(tables.durations) for tables in explorers)

    def padded(tables: Tables) -> Tables:
        rows = ((0, n_nodes - len(tables.cumulative)), (0, 0))
        tail = (0, n_durations - len(tables.durations))
        return Tables(
            jnp.pad(tables.probabilities, rows),
            jnp.pad(tables.cumulative, rows, constant_values=1.0),
            jnp.pad(tables.next_nodes, rows, constant_values=-1),
            tables.depth,
            jnp.pad(tables.durations, tail, constant_values=1.0),
        )

    stacked: Tables = jax.tree.map(lambda *arrays: jnp.stack(arrays), *map(padded, explorers))
    return stacked


def init(n_envs: int | tuple[int, ...] = ()) -> State:
    """Return the initial state, at the empty word; () is for a single environment."""
    return State(*(jnp.zeros(n_envs, jnp.int32) for _ in State._fields))


def uniforms(key: Array, n_envs: int | tuple[int, ...] = ()) -> Uniforms:
    """Draw the random numbers of a step."""
    shape = n_envs if isinstance(n_envs, tuple) else (n_envs,)
    return Uniforms(*jax.random.uniform(key, (3, *shape)))


def sample(
    tables: Tables, state: State, key: Array | Uniforms, mask: Array | None = None
) -> tuple[State, Array]:
    """Return the new state and an exploratory action for every environment; see `choose`."""
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
    """Return the new state, epsilon-greedy actions, and which of them are exploratory.

    Args:
        tables: explorer.
        state: state of the explorer.
        greedy: int, greedy actions.
        epsilon: exploration probability, for all or per environment.
        key: random key, or the random numbers themselves.
        mask: bool (k,) or (..., k), the allowed exploratory actions; at least one.
    """
    draws = key if isinstance(key, Uniforms) else uniforms(key, state.nodes.shape)
    remaining = state.remaining
    if mask is not None:
        mask = jnp.broadcast_to(jnp.asarray(mask, bool), (*state.nodes.shape, tables.n_actions))
        allowed = jnp.take_along_axis(mask, state.repeated[..., None], axis=-1)[..., 0]
        remaining = jnp.where(allowed, remaining, 0)
    repeats = remaining > 0
    explores = repeats | (draws.coin < epsilon)
    starts = explores & ~repeats
    above = _row(tables, state.nodes, mask) > draws.action[..., None]
    action = jnp.argmax(above, axis=-1).astype(jnp.int32)
    duration = _find(tables.durations, draws.duration)
    repeated = jnp.where(starts, action, state.repeated)
    remaining = jnp.where(starts, duration, jnp.maximum(remaining - repeats, 0))
    actions = jnp.where(explores, repeated, greedy).astype(jnp.int32)
    return state._replace(repeated=repeated, remaining=remaining), actions, explores


def _row(tables: Tables, nodes: Array, mask: Array | None) -> Array:
    """Return the cumulative probabilities at nodes, restricted to a mask."""
    if mask is None:
        return tables.cumulative[nodes]
    allowed = jnp.where(mask, tables.probabilities[nodes], 0.0)
    allowed = jnp.where(allowed.sum(-1, keepdims=True) > 0, allowed, mask)
    sums = jnp.cumsum(allowed, axis=-1)
    sums = sums / sums[..., -1:]
    # Rounding may leave the last sum below 1, and then a large uniform would match no action.
    possible = jnp.asarray(allowed > 0, jnp.int32)
    later = jnp.cumsum(possible[..., ::-1], axis=-1)[..., ::-1] - possible
    return jnp.where(later == 0, 1.0, sums)


def _find(sums: Array, uniform: Array) -> Array:
    """Return how many of b * b sorted numbers are at most a uniform."""
    # A search for the block, then within it: a binary search is a loop of small kernels on a GPU.
    blocks = sums.reshape(math.isqrt(len(sums)), -1)
    block = (blocks[:, -1] <= uniform[..., None]).sum(-1, dtype=jnp.int32)
    row = blocks[jnp.minimum(block, len(blocks) - 1)]
    return block * len(blocks) + (row <= uniform[..., None]).sum(-1, dtype=jnp.int32)


def step(tables: Tables, state: State, actions: Array, dones: Array | bool = False) -> State:
    """Return the state after some actions, by the rules of `PolicyTable` and `ZetaExplorer`."""
    next_nodes = tables.next_nodes[state.nodes, actions]
    lengths = state.lengths + 1
    restarts = (next_nodes < 0) | (lengths >= tables.depth) | dones
    nodes, lengths = jnp.where(restarts, 0, next_nodes), jnp.where(restarts, 0, lengths)
    repeats = (actions == state.repeated) & ~jnp.asarray(dones)
    return State(nodes, lengths, state.repeated, jnp.where(repeats, state.remaining, 0))

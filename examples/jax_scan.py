"""EASEE inside a JAX program: a thousand walkers in one compiled scan.

python examples/jax_scan.py

Prints how many cells of a grid are visited with uniform actions and with EASEE.
"""

import jax
import jax.numpy as jnp

import easee
from easee.envs.jax import CardinalGrid, GridState
from easee.explorers import jax as explorers

WALKERS, STEPS = 1000, 100
world = CardinalGrid(100)
Carry = tuple[explorers.State, GridState]


@jax.jit
def walk(tables: explorers.Tables, key: jax.Array) -> jax.Array:
    """Return the places of all walkers after each step, (steps, walkers, 2)."""

    def step(carry: Carry, key: jax.Array) -> tuple[Carry, jax.Array]:
        explorer, states = carry
        explorer, actions = explorers.sample(tables, explorer, key)
        states, *_ = jax.vmap(world.step)(states, actions)
        return (explorers.step(tables, explorer, actions), states), states.place

    reset_key, step_key = jax.random.split(key)
    states = jax.vmap(world.reset)(jax.random.split(reset_key, WALKERS))
    start = explorers.init(WALKERS), states
    return jax.lax.scan(step, start, jax.random.split(step_key, STEPS))[1]


for name, tables in {
    "uniform": explorers.uniform(4),
    "EASEE, depth 50": explorers.from_policy(easee.compile(easee.priors.cardinal_grid(), depth=50)),
}.items():
    places = walk(tables, jax.random.key(0)).reshape(-1, 2)
    print(f"{name}: {len(jnp.unique(places, axis=0)):,} of 10,000 cells visited")

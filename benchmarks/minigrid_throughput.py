"""Steps per second of MiniGrid's tasks as worlds, compared with MiniGrid itself.

    python -m benchmarks.minigrid_throughput [--environments 64 1024] [--ids ID ...]

A step takes a random action, computes the image and, at the end of an episode, draws a new layout.
Worlds take all steps in one compiled program, on the GPU if there is one; MiniGrid takes them in
one environment, after the world in the same process. The fastest of three measurements counts.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
from rich.console import Console

from easee.envs.jax import MiniGrid

wait: Any = jax.block_until_ready

IDS = (
    "MiniGrid-Empty-8x8-v0",
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-KeyCorridorS3R3-v0",
    "MiniGrid-ObstructedMaze-Full-v1",
    "MiniGrid-MultiRoom-N6-v0",
)


def rate(work: Callable[[int], Any], least: float = 0.5, times: int = 3) -> float:
    """Return the repetitions per second of a function that takes the number of repetitions."""
    count, best = 16, 0.0
    work(count)
    while times:
        began = time.perf_counter()
        work(count)
        took = time.perf_counter() - began
        if took < least / 2:
            count = math.ceil(count * min(10.0, least / took))
        else:
            best, times = max(best, count / took), times - 1
    return best


def world_rate(world: MiniGrid, environments: int) -> float:
    """Return the steps per second of all environments together."""
    keys = jax.random.split(jax.random.key(0), environments)
    states = jax.jit(jax.vmap(world.reset))(keys)

    def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        action_key, restart_key = jax.random.split(key)
        action = jax.random.randint(action_key, (), 0, world.n_actions)
        after, reward, terminated, truncated = world.step(state, action)
        first = world.restart(after, restart_key)
        done = terminated | truncated
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), first, after)
        return state, world.pack(state)

    @jax.jit
    def walk(states: Any, count: int) -> Any:
        images = jnp.zeros((environments, *world.image_shape), jnp.uint8)

        def turn(i: jax.Array, carry: Any) -> Any:
            states, images = carry
            states, seen = jax.vmap(step)(states, jax.vmap(jax.random.fold_in, (0, None))(keys, i))
            return states, images ^ seen  # so that no image is optimised away

        return jax.lax.fori_loop(0, count, turn, (states, images))

    def work(count: int) -> None:
        wait(walk(states, count))

    return environments * rate(work)


def minigrid_rate(name: str) -> float:
    """Return the steps per second of one environment of MiniGrid."""
    env: Any = gym.make(name).unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def work(count: int) -> None:
        for action in rng.integers(env.action_space.n, size=count).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return rate(work)


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--ids", nargs="+", default=IDS)
    arguments = parser.parse_args()
    console = Console(width=110)
    console.print(f"device: {jax.devices()[0].device_kind}, jax {jax.__version__}")
    columns = ("environments", "steps/s", "MiniGrid", "ratio")
    console.print(f"{'task':<34}" + "".join(f"{column:>14}" for column in columns))
    for name in arguments.ids:
        rates = [world_rate(MiniGrid(name), count) for count in arguments.environments]
        base = minigrid_rate(name)
        for count, steps in zip(arguments.environments, rates, strict=True):
            cells = (f"{count:,}", f"{steps:,.0f}", f"{base:,.0f}", f"{steps / base:,.0f}")
            text = f"{name:<34}" + "".join(f"{cell:>14}" for cell in cells)
            console.print(text, highlight=False)


if __name__ == "__main__":
    main()

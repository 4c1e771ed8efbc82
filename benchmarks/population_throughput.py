"""Agent steps per second of the population by number of seeds, compared with SB3's DQN.

    python -m benchmarks.population_throughput [--seeds 1 8 40 160]

The task is Catcher with the paper's hyperparameters, in the phase of training with updates. All
measurements are made one after the other in one process, after warm-up. The parts of a step are
timed separately, so their sum differs from the whole. The floor is the time of a step if the device
only computes the network's products, at the rate of a large product, or only reads and writes the
weights and layer outputs once.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import jax
from rich.console import Console

from easee.agents.population import Population, Settings, dqn
from easee.agents.population.networks import CATCHER as NETWORK
from easee.envs.jax import Catcher
from easee.experiments.deep.tasks import CATCHER, hyperparameters
from easee.experiments.harness.explorers import policy_of
from easee.explorers import jax as explorers

wait: Any = jax.block_until_ready

WORLD = Catcher()
SETTINGS = Settings(300_000, **(hyperparameters(CATCHER, 300_000) | {"learning_starts": 1000}))


def seconds(work: Callable[[int], Any], least: float = 1.0) -> float:
    """Return the seconds per repetition of a function that takes the number of repetitions."""
    count = 8
    wait(work(count))
    while True:
        began = time.perf_counter()
        wait(work(count))
        took = time.perf_counter() - began
        if took > least / 2:
            return took / count
        count = math.ceil(count * min(10.0, least / took))


def make_population(seeds: int, settings: Settings = SETTINGS) -> Population:
    """Return a population that alternates three explorers."""
    kinds = [
        explorers.uniform(2),
        explorers.from_policy(policy_of(CATCHER.prior, CATCHER.depth)),
        explorers.zeta(2),
    ]
    return Population(
        WORLD, [kinds[i % 3] for i in range(seeds)], range(seeds), settings, NETWORK, CATCHER.bins
    )


def step_seconds(population: Population) -> float:
    """Return the seconds per step of all seeds, including a fourth of an update."""

    def work(blocks: int) -> Any:
        population.steps = 1000 * SETTINGS.train_freq  # always measure the middle of training
        return population.advance(blocks * SETTINGS.train_freq)

    return seconds(work) / SETTINGS.train_freq


def part_seconds(population: Population) -> dict[str, float]:
    """Return the seconds per step of all seeds that each part takes."""
    runs, keys = population.runs, population.keys

    def update(run: Any, key: Any, i: Any) -> Any:
        batch = run.replay.sample(jax.random.fold_in(key, i), 10_000, SETTINGS.batch_size, WORLD)
        return run._replace(learner=dqn.update(NETWORK, SETTINGS, run.learner, batch))

    def act(run: Any, key: Any, i: Any) -> Any:
        observation = WORLD.observe(run.state)
        action = dqn.act(NETWORK, run.learner.params, observation)
        return run._replace(state=WORLD.step(run.state, action)[0])

    def repeated(part: Any) -> Callable[[int], Any]:
        over = jax.vmap(part, (0, 0, None))
        # Returning only the part that changes lets the compiler drop the rest.
        field = "state" if part is act else "learner"
        loop = jax.jit(
            lambda n: getattr(
                jax.lax.fori_loop(0, n, lambda i, state: over(state, keys, i), runs), field
            )
        )
        return lambda n: loop(n)

    return {
        "sampling and update": seconds(repeated(update)) / SETTINGS.train_freq,
        "greedy action": seconds(repeated(act)),
    }


def rates() -> tuple[float, float]:
    """Return the peak rates of the device: operations of a product and bytes moved per second."""
    size = 8192 if jax.default_backend() != "cpu" else 1024
    a = jax.random.normal(jax.random.key(0), (size, size))
    product = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, x: (x @ a) / size, a))
    copy = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, x: x + 1.0, a))
    return 2 * size**3 / seconds(product), 2 * 4 * size**2 / seconds(copy)


def floor(seeds: int, operations: float, bytes_moved: float) -> tuple[float, float]:
    """Return lower bounds on the seconds per step: for the products, and for memory traffic."""
    layers = NETWORK.layers(WORLD.observation_shape, 2)
    weights = sum(math.prod(shape) + shape[-1] for shape, _ in layers)
    forward = 2 * sum(count * math.prod(shape) for shape, count in layers)
    outputs = [count * shape[-1] for shape, count in layers[:-1]]
    numbers = math.prod(WORLD.observation_shape) + sum(outputs)
    every, batch = SETTINGS.train_freq, SETTINGS.batch_size
    # An update is a forward pass with both networks and a backward pass, which costs two more; an
    # action is one forward pass.
    work = forward + 4 * forward * batch / every
    # Adam reads weights, target and two moments and writes three; layer outputs are written and
    # read.
    moved = 4 * (weights + 2 * numbers + (7 * weights + 8 * numbers * batch) / every)
    return seeds * work / operations, seeds * moved / bytes_moved


def sb3(steps: int = 1000, times: int = 3) -> float:
    """Return the steps per second of Stable-Baselines3's DQN, on the GPU if there is one.

    The fastest of several runs counts, because other processes may slow some of them down.
    """
    import torch

    from easee.agents.sb3 import DQN
    from easee.envs import Catcher as Env
    from easee.experiments.deep.sb3_backend import arguments

    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = arguments(CATCHER, 300_000) | {"learning_starts": 100}
    model = DQN(env=Env(), seed=0, device=device, **options)
    model.learn(300)
    rates = []
    for _ in range(times):
        began = time.perf_counter()
        model.learn(steps, reset_num_timesteps=False)
        rates.append(steps / (time.perf_counter() - began))
    return max(rates)


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 8, 40, 160])
    seeds = parser.parse_args().seeds
    console = Console(width=110)
    sb3_rate = sb3()
    operations, bytes_moved = rates()
    console.print(f"device: {jax.devices()[0].device_kind}, jax {jax.__version__}")
    console.print(
        f"products: {operations / 1e12:.1f} TFLOP/s, copies: {bytes_moved / 1e9:,.0f} GB/s"
    )
    console.print(f"Stable-Baselines3: {sb3_rate:,.0f} steps/s")
    columns = ("seeds", "steps/s", "times SB3", "µs a step", "update", "action", "other", "floor")
    console.print("".join(f"{column:>12}" for column in columns))
    for count in seeds:
        population = make_population(count)
        took = step_seconds(population)
        parts = part_seconds(population)
        update, action = parts["sampling and update"], parts["greedy action"]
        products, moves = floor(count, operations, bytes_moved)
        cells = [took, update, action, max(took - update - action, 0.0), max(products, moves)]
        micro = [f"{1e6 * value:,.1f}" for value in cells]
        row = [str(count), f"{count / took:,.0f}", f"{count / took / sb3_rate:,.1f}", *micro]
        console.print("".join(f"{text:>12}" for text in row), highlight=False)
        del population


if __name__ == "__main__":
    main()

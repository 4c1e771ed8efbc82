"""How good are the depths that `easee.tune` recommends? The table of `docs/tune.md`.

PYTHONPATH=examples python -m benchmarks.tune_depths
PYTHONPATH=examples python -m benchmarks.tune_depths --only "DoorKey, usual prior" --trials 40

Each environment is tuned with the default budget. After that, every depth that was compared is
measured again in new trials of the same length, and the recommended depth is compared with the best
one. Takes about ten minutes on one core.
"""

import argparse

import gymnasium as gym
import minigrid
import numpy as np

import easee
from arm import prior as arm_prior
from easee.probing.coverage import make_world

TRIALS = 10  # of each depth by default, to find the best
ENVIRONMENTS = {
    "arm": ("Arm-v0", arm_prior),
    "CardinalGrid": ("easee/CardinalGrid-v0", easee.priors.get("cardinal-grid")),
    "RotationGrid": ("easee/RotationGrid-v0", easee.priors.get("rotation-grid")),
    "RotationGrid, complete prior": (
        "easee/RotationGrid-v0",
        easee.priors.get("rotation-grid-complete"),
    ),
    "FourRooms, usual prior": ("MiniGrid-FourRooms-v0", easee.priors.get("minigrid-usual")),
    "DoorKey": ("easee/DoorKey-v0", easee.priors.get("doorkey")),
    "DoorKey, usual prior": ("easee/DoorKey-v0", easee.priors.get("doorkey-usual")),
}


def table_row(name: str, env_id: str, prior: easee.Equivalences, trials: int) -> str:
    """Return a row of the table, in Markdown."""
    env = gym.make(env_id)
    result = easee.tune(env, prior)
    world = make_world(env, None, None)
    means = {}
    for depth, policy in result.policies.items():
        counts = []
        for trial in range(trials):
            explorer = easee.Explorer(policy, seed=1_000_000 + trial)
            coverage = world.cover(explorer, result.trial_steps, 2_000_000 + trial)
            counts.append(len(coverage.first_steps))
        means[depth] = float(np.mean(counts))
    best = max(means, key=means.__getitem__)
    if result.depth is None:
        return f"| {name} | none | | | {best} | |"
    chosen = next(m for m in result.measurements if m.depth == result.depth)
    uniform, extended = (chosen.ratio(m)[0] for m in result.measurements[:2])
    share = means[result.depth] / means[best]
    return f"| {name} | {result.depth} | {uniform:.2f} | {extended:.2f} | {best} | {share:.0%} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=ENVIRONMENTS, help="one environment instead of all")
    parser.add_argument("--trials", type=int, default=TRIALS, help="new trials of each depth")
    arguments = parser.parse_args()
    gym.register_envs(minigrid)
    print("| environment | recommended | times uniform | times extended | best | share |")
    print("|---|---|---|---|---|---|")
    for name, (env_id, prior) in ENVIRONMENTS.items():
        if arguments.only in (None, name):
            print(table_row(name, env_id, prior, arguments.trials), flush=True)

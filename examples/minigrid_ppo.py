"""Stable-Baselines3's PPO on a stock MiniGrid task, without and with EASEE as its reference.

    python examples/minigrid_ppo.py --steps 40000 --seeds 3

prints the share of successful episodes in each quarter of training.
"""

import argparse

import numpy as np
from minigrid.wrappers import ImgObsWrapper
from stable_baselines3.common.env_util import make_vec_env

from easee.agents.sb3 import PPO

TASK = "MiniGrid-Empty-16x16-v0"
QUARTERS = 4


def success(reference: str | None, steps: int, seed: int) -> list[float]:
    """Train once and return the share of successful episodes in each quarter of training."""
    env = make_vec_env(TASK, n_envs=8, wrapper_class=ImgObsWrapper, seed=seed)
    model = PPO(
        "MlpPolicy", env, reference=reference, ent_coef=0.01, n_steps=256, batch_size=256,
        seed=seed, device="cpu", stats_window_size=100_000,
    )  # fmt: skip
    shares, seen = [], 0
    for i in range(QUARTERS):
        model.learn(steps // QUARTERS, reset_num_timesteps=i == 0)
        rewards = [episode["r"] for episode in model.ep_info_buffer or ()][seen:]
        seen += len(rewards)
        shares.append(float(np.mean(np.array(rewards) > 0)) if rewards else 0.0)
    return shares


def main() -> None:
    """Compare plain PPO with PPO that has EASEE as its reference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print(f"{TASK}: share of successful episodes in each quarter of {args.steps:,} steps")
    for name, reference in (("PPO", None), ("PPO with EASEE", "minigrid-usual:20")):
        runs = [success(reference, args.steps, seed) for seed in range(args.seeds)]
        print(f"{name:16}", *(f"{share:6.2f}" for share in np.mean(runs, axis=0)))


if __name__ == "__main__":
    main()

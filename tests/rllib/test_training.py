"""DQN of RLlib with two env runners, in a cluster of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import ray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.dqn import DQNConfig
from ray.tune.registry import register_env

from easee.agents.rllib import explore_with
from tests.rllib.episodes import POLICY, assert_nodes_follow, one_hot_grid

pytestmark = pytest.mark.filterwarnings("ignore")  # of RLlib's own code
ROOT = Path(__file__).parents[2]
STEPS = "num_env_steps_sampled_lifetime"


@pytest.fixture(scope="module")
def cluster():
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])  # the workers import `tests.rllib`
    ray.init(
        address="local",
        num_cpus=5,  # the env runners of two algorithms at a time, and one more
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def trained(cluster):
    register_env("grid", one_hot_grid)
    config = (
        DQNConfig()
        .environment("grid", env_config={"size": 5, "max_steps": 7})
        .env_runners(num_env_runners=2, num_envs_per_env_runner=2)
        .training(epsilon=[(0, 1.0), (1000, 0.2)], train_batch_size_per_learner=8)
        .training(num_steps_sampled_before_learning_starts=200)
        .reporting(min_sample_timesteps_per_iteration=200)
        .debugging(seed=0)
    )
    algorithm = explore_with(config, POLICY).build_algo()
    results = [algorithm.train()["env_runners"] for _ in range(2)]
    yield algorithm, results
    algorithm.stop()


def of_runners(algorithm, function):
    return algorithm.env_runner_group.foreach_env_runner(function, local_env_runner=False)


def epsilons(algorithm):
    """Return the epsilon of the next step of each env runner."""

    def epsilon(runner):
        runner.sample(num_timesteps=1)
        return float(runner.module.epsilon_schedule.get_current_value())

    return of_runners(algorithm, epsilon)


def test_nodes_follow_the_episodes_of_every_runner(trained):
    algorithm, _ = trained
    episodes = [e for e in algorithm.local_replay_buffer.episodes if e.t_started == 0]
    assert len(episodes) > 40
    for episode in episodes:
        assert_nodes_follow(episode)


def test_runners_explore_differently(trained):
    def generator(runner):
        (found,) = (c for c in runner._module_to_env.connectors if hasattr(c, "_rng"))
        return str(found._rng.bit_generator.state)

    assert len(set(of_runners(trained[0], generator))) == 2


def test_epsilon_follows_the_steps_of_all_runners(trained):
    algorithm, (first, last) = trained
    assert first["explorer"]["epsilon"] > last["explorer"]["epsilon"]
    assert epsilons(algorithm) == pytest.approx([1.0 - 0.8 * last[STEPS] / 1000] * 2)
    explorer = last["explorer"]
    assert explorer["exploratory_share"] == pytest.approx(explorer["epsilon"], abs=0.15)
    assert explorer["node_depth"] > 0


def test_a_checkpoint_restores_the_schedule_in_every_runner(trained, tmp_path):
    algorithm, results = trained
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    restored = Algorithm.from_checkpoint(path)
    try:
        expected = 1.0 - 0.8 * results[-1][STEPS] / 1000
        assert epsilons(restored) == pytest.approx([expected] * 2)
        more = restored.train()["env_runners"]
        assert more[STEPS] > results[-1][STEPS]
        assert more["explorer"]["epsilon"] <= expected + 1e-6
        for episode in restored.local_replay_buffer.episodes:
            if episode.t_started == 0:
                assert_nodes_follow(episode)
    finally:
        restored.stop()


def test_the_example_trains_with_two_runners():
    command = [sys.executable, ROOT / "examples" / "rllib_dqn.py", "2"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    epsilons = [float(e) for e in re.findall(r"epsilon ([\d.]+)", process.stdout)]
    assert len(epsilons) == 2 and 1.0 >= epsilons[0] > epsilons[1]

import importlib
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from easee.agents.population.networks import Network
from easee.agents.sb3 import DQN, PPO
from easee.envs.jax import GoalGrid

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments, ignored=()):
    """Run an example; warnings are errors, except those whose texts start with an ignored one."""
    filters = [part for text in ignored for part in ("-W", f"ignore:{text}")]
    command = [sys.executable, "-W", "error", *filters, EXAMPLES / name, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_plain_loop_visits_more_states_with_easee():
    uniform, easee = map(int, re.findall(r": (\d+) states", run("gymnasium_loop.py")))
    assert easee > 1.5 * uniform


def test_both_autoreset_modes_play_the_same_number_of_episodes():
    same_step, next_step = re.findall(r"(\d+) of (\d+) balls", run("vector_envs.py"))
    # 200 steps are 6 episodes of 30 steps, also with one more step for each reset.
    assert same_step[1] == next_step[1] == "24"


def test_a_custom_environment_learns_more_with_its_prior():
    uniform, easee = map(int, re.findall(r"in (\d+)%", run("custom_env.py")))
    assert easee > uniform


def test_the_arm_s_best_depth_is_neither_shallow_nor_deep():
    depth = int(re.findall(r"^Depth (\d+):", run("arm.py", "30000"), re.MULTILINE)[0])
    assert 4 <= depth <= 16


def test_the_graph_of_rubik_s_cube_has_as_many_nodes_as_the_cube_has_positions():
    printed = run("rubik.py", "--depth", "4")
    assert "relations  30 of 12 quarter turns" in printed
    for name in ("graph", "cube"):  # OEIS A080602
        assert re.search(rf"^{name} +1, 12, 114, 1068, 10011$", printed, re.MULTILINE)
    assert "exact      True" in printed


@pytest.mark.slow
def test_outcomes_never_reduce_the_entropy():
    lines = re.findall(
        r"slip ([\d.]+): ordinary ([\d.]+), with outcomes ([\d.]+)", run("slippery.py")
    )
    assert len(lines) == 9
    for slip, ordinary, stochastic in lines:
        assert float(stochastic) > float(ordinary) if float(slip) else stochastic == ordinary


@pytest.mark.slow
def test_the_stable_baselines_example_logs_the_explorer():
    printed = run("sb3_dqn.py", "2100")
    assert "exploratory_share" in printed and "node_depth" in printed


@pytest.mark.slow
def test_dqn_of_torchrl_reaches_the_goal_more_often_with_easee():
    printed = run("torchrl_dqn.py", "1200", "1", ignored=["Creating"])  # TorchRL's, of itself
    uniform, easee = map(int, re.findall(r"reached (\d+) times", printed))
    assert easee > uniform


@pytest.mark.slow
def test_the_zoo_reads_policies_from_its_configuration(tmp_path):
    code = (
        "import runpy, sys\n"
        "for arguments in {commands!r}:\n"
        "    sys.argv = [{path!r}, *arguments]\n"
        "    runpy.run_path({path!r}, run_name='__main__')\n"
    )
    commands = [
        ["--algo", algo, "--env", "easee/GoalGrid-v0", "-n", "200", "-f", str(tmp_path)]
        + ["--conf-file", str(EXAMPLES / f"zoo_{algo}.yml"), "--eval-freq", "-1"]
        for algo in ("dqn", "ppo")
    ]
    code = code.format(commands=commands, path=str(EXAMPLES / "zoo.py"))
    command = [sys.executable, "-W", "error", "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    path = "{}/easee-GoalGrid-v0_1/easee-GoalGrid-v0.zip"
    for agent, algo in ((DQN, "dqn"), (PPO, "ppo")):
        model = agent.load(tmp_path / path.format(algo))
        assert model.num_timesteps >= 200
        assert model.explorer.policy.graph.depth == 30


@pytest.mark.slow
def test_the_single_file_agent_learns():
    printed = run("single_file_dqn.py", "8000")
    assert float(re.findall(r"mean reward ([+-][\d.]+)", printed)[-1]) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["single_file_ppo.py", "recurrent_policy.py"])
def test_policy_gradients_reach_the_goal_more_often_with_easee_as_reference(name):
    uniform, easee = map(int, re.findall(r"reached in (\d+)%", run(name, "6000")))
    assert easee > uniform


@pytest.mark.slow
def test_a_scan_visits_more_cells_with_easee():
    counts = re.findall(r": ([\d,]+) of 10,000 cells", run("jax_scan.py"))
    uniform, easee = (int(count.replace(",", "")) for count in counts)
    assert easee > 2 * uniform


@pytest.mark.slow
def test_a_population_learns_with_every_arm():
    printed = run("population.py")
    rewards = [float(r) for r in re.findall(r"mean reward (-?[\d.]+)", printed)]
    assert len(rewards) == 2
    assert min(rewards) > -0.5  # random actions catch at most one ball in eight


@pytest.mark.slow
def test_pqn_finds_the_goal_sooner_with_easee():
    printed = run("pqn.py", "goal-31", "--seeds", "2", "--steps", "8000")
    uniform, easee = (map(float, line.split()[-10:]) for line in printed.splitlines()[1:])
    assert sum(easee) > sum(uniform)


def test_pqn_learns_from_lambda_returns(rng, monkeypatch):
    """Compare with the mean of n-step returns that weighs them by the powers of lambda."""
    monkeypatch.syspath_prepend(EXAMPLES)
    pqn = importlib.import_module("pqn")
    length, decay, gamma = 6, 0.7, 0.9
    settings = pqn.Settings(100, n_envs=2, rollout=length, trace_decay=decay, gamma=gamma)
    learner = pqn.Pqn(GoalGrid(5), Network(hidden=(4,)), settings)
    params = learner.network.init(jax.random.key(0), (14,), 3)
    after, rewards = rng.random((length, 2, 14)), rng.random((length, 2))
    terminated, truncated = np.zeros((2, length, 2), bool)
    terminated[3, 0] = truncated[2, 1] = True
    steps = pqn.Step(None, None, rewards, after, terminated, terminated | truncated)
    values = learner.network.apply(params, after.reshape(-1, 14)).max(axis=1).reshape(length, 2)
    expected = np.zeros((length, 2))
    for t, env in np.ndindex(length, 2):
        ends = np.flatnonzero(steps.done[t:, env])
        n = int(ends[0]) + 1 if len(ends) else length - t
        sums = np.cumsum(gamma ** np.arange(n) * rewards[t : t + n, env])
        goes_on = ~terminated[t : t + n, env]
        returns = sums + gamma ** np.arange(1, n + 1) * values[t : t + n, env] * goes_on
        weights = (1 - decay) * decay ** np.arange(n)
        weights[-1] = decay ** (n - 1)
        expected[t, env] = weights @ np.asarray(returns)
    np.testing.assert_allclose(learner.returns(params, steps), expected, rtol=1e-5)


@pytest.mark.slow
def test_ppo_learns_a_stock_task_sooner_with_easee_as_reference():
    printed = run("minigrid_ppo.py", "--steps", "8000", "--seeds", "1")
    plain, easee = re.findall(r"^PPO.*?((?: +[01]\.\d\d){4})$", printed, re.MULTILINE)
    assert float(easee.split()[0]) > float(plain.split()[0])


def test_every_example_is_tested():
    names = {path.name for path in EXAMPLES.glob("*.py")} - {"demo.py"}
    tests = [Path(__file__), *Path(__file__).parent.glob("rllib/*.py")]
    texts = "".join(path.read_text() for path in tests)
    assert all(name in texts for name in names)

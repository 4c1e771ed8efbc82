import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    command = [sys.executable, "-W", "error", EXAMPLES / name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plain_loop_sees_more_with_easee():
    uniform, easee = map(int, re.findall(r": (\d+) states", run("gymnasium_loop.py")))
    assert easee > 1.5 * uniform


def test_both_autoreset_modes_play_whole_episodes():
    same, following = re.findall(r"(\d+) of (\d+) balls", run("vector_envs.py"))
    # 200 steps of 30 are 6 episodes; with a step of its own for every reset they are still 6.
    assert same[1] == following[1] == "24"


def test_a_custom_environment_learns_more_with_its_prior():
    uniform, easee = map(int, re.findall(r"in (\d+)%", run("custom_env.py")))
    assert easee > uniform


def test_knowing_the_slips_is_never_worse():
    found = re.findall(
        r"slip ([\d.]+): ordinary ([\d.]+), with outcomes ([\d.]+)", run("slippery.py")
    )
    assert len(found) == 9
    for slip, ordinary, ours in found:
        assert float(ours) > float(ordinary) if float(slip) else ours == ordinary


@pytest.mark.slow
def test_stable_baselines_in_ten_lines():
    printed = run("sb3_dqn.py", "2100")
    assert "exploratory_share" in printed and "node_depth" in printed


@pytest.mark.slow
def test_the_single_file_agent_learns():
    printed = run("single_file_dqn.py", "8000")
    assert float(re.findall(r"mean reward ([+-][\d.]+)", printed)[-1]) > 0.0


def test_a_scan_sees_more_with_easee():
    seen = re.findall(r": ([\d,]+) of 10,000 cells", run("jax_scan.py"))
    uniform, easee = (int(count.replace(",", "")) for count in seen)
    assert easee > 2 * uniform


@pytest.mark.slow
def test_a_population_learns_with_every_arm():
    printed = run("population.py")
    rewards = [float(r) for r in re.findall(r"mean reward (-?[\d.]+)", printed)]
    assert (
        len(rewards) == 2 and min(rewards) > -0.5
    )  # nobody catches more than one in eight by luck


def test_every_example_is_tested():
    names = {path.name for path in EXAMPLES.glob("*.py")} - {"demo.py"}
    assert all(name in Path(__file__).read_text() for name in names)

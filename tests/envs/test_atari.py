import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import easee
from easee import priors
from easee.agents.sb3.vec_env import VectorAdapter
from easee.envs.atari import GAMES, Atari, ram_state, single


@pytest.mark.parametrize("game", GAMES)
def test_actions_have_the_order_of_the_prior(game):
    names = [name.upper() for name in priors.get(game).actions]
    assert list(Atari(game).action_names) == names


def test_observations_are_stacks_of_four_grey_frames():
    env = Atari("freeway", num_envs=2)
    first, _ = env.reset(seed=0)
    second = env.step(np.array([1, 1]))[0]
    assert first.shape == (2, 4, 84, 84) and first.dtype == np.uint8
    np.testing.assert_array_equal(second[:, :3], first[:, 1:])


@pytest.mark.slow
def test_equal_seeds_give_equal_games():
    def play(seed):
        env, rng = Atari("boxing"), np.random.default_rng(0)
        frames = [env.reset(seed=seed)[0]]
        frames += [env.step(rng.integers(18, size=1))[0] for _ in range(60)]
        return np.array(frames)

    np.testing.assert_array_equal(play(1), play(1))
    assert (play(1) != play(2)).any()  # a different number of no-ops


def test_games_are_deterministic_without_sticky_actions():
    env = single("freeway", frameskip=4)
    ale = env.get_wrapper_attr("ale")
    assert ale.getFloat("repeat_action_probability") == 0.0
    env.reset(seed=0)
    state = ale.cloneState()
    screens = []
    for _ in range(2):
        ale.restoreState(state)
        for _ in range(30):
            frame = env.step(1)[0]
        screens.append(frame)
    np.testing.assert_array_equal(*screens)


def test_rewards_but_not_scores_are_clipped():
    env = Atari("carnival", max_frames=2400)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    clipped, steps, done = 0.0, 0, False
    while not done:
        _, reward, terminated, truncated, info = env.step(rng.integers(5, size=1))
        assert reward[0] in (-1.0, 0.0, 1.0)
        clipped += reward[0]
        steps += 1
        done = bool(terminated[0] or truncated[0])
    assert info["episode"]["r"][0] > clipped > 0
    assert info["episode"]["l"][0] == steps <= 600
    assert info["final_obs"].shape == (1, 4, 84, 84)


def test_carnival_has_no_noop():
    assert "NOOP" not in Atari("carnival").action_names


def test_an_unknown_game_suggests_the_nearest():
    with pytest.raises(easee.ArgumentError, match="freeway"):
        Atari("freway")


def test_the_adapter_reports_the_end_of_an_episode():
    envs = VectorAdapter(Atari("freeway", num_envs=2, max_frames=400))
    envs.seed(0)
    envs.reset()
    ends = []
    for _ in range(101):
        last = envs.step(np.array([1, 2]))
        ends += [info for info in last[3] if info]
    assert len(ends) == 2
    for info in ends:
        assert info["TimeLimit.truncated"]
        assert info["terminal_observation"].shape == (4, 84, 84)
        assert info["episode"]["l"] == 100


def test_the_adapter_requires_same_step_autoreset():
    with pytest.raises(easee.ArgumentError, match="SAME_STEP"):
        VectorAdapter(gym.make_vec("CartPole-v1", 2, "sync"))


def test_a_partial_reset_keeps_the_scores_of_the_others():
    env = Atari("boxing", 2)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.array([1, 1]))
    env.reset(options={"reset_mask": np.array([True, False])})
    for _ in range(3):
        env.step(np.array([0, 0]))
    assert env._lengths.tolist() == [3, 63]


def test_actions_and_seeds_are_checked():
    env = Atari("freeway", 2)
    env.reset(seed=np.int64(3))
    env.reset(seed=(1, 2))
    with pytest.raises(easee.ArgumentError, match=r"from 0 to 2, found \[-1, 0\]"):
        env.step(np.array([-1, 0]))


def test_ram_state_reads_bytes_of_the_memory():
    env = single("freeway")
    env.reset(seed=0)
    ale = env.get_wrapper_attr("ale")
    before = ale.getRAM()[14]
    for _ in range(5):
        env.step(1)
    memory = ale.getRAM()
    assert memory[14] > before  # the chicken moved up
    assert ram_state(14)(env) == bytes([memory[14]])
    assert ram_state(14, 3)(env) == bytes([memory[14], memory[3]])
    assert ram_state()(env) == bytes(memory)


def test_without_ale_py_only_making_a_game_fails():
    code = (
        "import sys; sys.modules['ale_py'] = None\n"
        "import easee\n"
        "from easee.envs.atari import PLAYER, Atari, ram_state, single\n"
        "print(ram_state(*PLAYER['boxing']).label)\n"
        "for make in (Atari, single):\n"
        "    try: make('freeway')\n"
        "    except easee.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    label, *errors = run.stdout.splitlines()
    assert label == "byte 32, 34 of the game's memory"
    assert len(errors) == 2 and all("ale-py" in error for error in errors)

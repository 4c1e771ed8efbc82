import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import easee
from easee.envs import Catcher
from easee.envs.catcher import reachable_columns

LEFT, RIGHT = 0, 1
BALL, PADDLE = 255, 128
SIZES = [(60, 30), (7, 4), (10, 3), (2, 1), (5, 9)]


def play(env, choose, seed=0):
    """Play an episode; return the observations and rewards."""
    observation, _ = env.reset(seed=seed)
    observations, rewards, done = [observation], [], False
    while not done:
        observation, reward, done, truncated, _ = env.step(choose(env))
        observations.append(observation)
        rewards.append(reward)
        assert not truncated
    return observations, rewards


def optimal(env):
    """Move towards the ball, then back and forth under it."""
    return RIGHT if env.paddle < env.ball else LEFT


def test_is_registered_and_passes_the_checker():
    assert gym.spec("easee/Catcher-v0").max_episode_steps is None
    check_env(gym.make("easee/Catcher-v0").unwrapped)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_episode_length_equals_the_number_of_rows(width, height):
    env = Catcher(width, height)
    _, rewards = play(env, lambda env: LEFT)
    assert len(rewards) == height
    assert rewards[:-1] == [0.0] * (height - 1) and rewards[-1] in (1.0, -1.0)


def test_the_default_field_is_that_of_the_paper():
    env = Catcher()
    observations, rewards = play(env, optimal)
    assert len(rewards) == 30 and observations[0].shape == (30, 60, 1)


def test_observations_show_the_ball_and_the_paddle():
    env = Catcher(9, 6)
    observation, _ = env.reset(seed=3)
    for row in range(6):
        assert observation.dtype == np.uint8 and observation.shape == (6, 9, 1)
        assert np.argwhere(observation[:, :, 0] == BALL).tolist() == [[row, env.ball]]
        if (row, env.ball) != (5, env.paddle):  # the ball is drawn over it
            assert np.argwhere(observation[:, :, 0] == PADDLE).tolist() == [[5, env.paddle]]
        assert np.count_nonzero(observation) <= 2
        observation, *_ = env.step(row % 2)
    assert np.argwhere(observation[:, :, 0]).tolist() == [[5, env.paddle]]  # the ball is gone


def test_the_second_to_last_observation_shows_both():
    # A paddle that has not hit a wall is then in a column next to the ball's, never in it.
    rng = np.random.default_rng(0)
    env = Catcher()
    for seed in range(20):
        observations, _ = play(env, lambda env: int(rng.integers(2)), seed)
        assert {BALL, PADDLE} <= set(np.unique(observations[-2]))


def test_balls_fall_in_reachable_columns():
    env = Catcher()
    drawn = {int(env.reset(seed=seed)[0][0].argmax()) for seed in range(500)}
    assert drawn == set(range(0, 60, 2)) == set(env.columns)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_reachable_columns_equal_brute_force(width, height):
    reached = {width // 2}
    for _ in range(height):  # every sequence of moves, without walls
        reached = {column + move for column in reached for move in (-1, 1)}
    assert set(reachable_columns(width, height)) == reached & set(range(width))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_ball_can_be_caught(width, height):
    env = Catcher(width, height)
    caught = {}
    for seed in range(300):
        _, rewards = play(env, optimal, seed)
        caught[env.ball] = rewards[-1]
    assert caught == {int(column): 1.0 for column in env.columns}


def test_a_ball_is_missed_if_the_paddle_is_elsewhere():
    env = Catcher(9, 4)
    outcomes = set()
    for seed in range(30):
        _, rewards = play(env, lambda env: RIGHT, seed)
        assert rewards[-1] == (1.0 if env.ball == 8 else -1.0)
        outcomes.add(rewards[-1])
    assert outcomes == {1.0, -1.0}


def test_left_and_right_commute_away_from_the_walls():
    env = Catcher(11, 30)
    env.reset(seed=0)
    for start in range(11):
        places = []
        for word in ((LEFT, RIGHT), (RIGHT, LEFT)):
            env.paddle = start
            for action in word:
                env.step(action)
            places.append(env.paddle)
        assert (places[0] == places[1]) == (0 < start < 10)


@pytest.mark.parametrize(("action", "column"), [(LEFT, 0), (RIGHT, 8)])
def test_walls_stop_the_paddle(action, column):
    env = Catcher(9, 20)
    play(env, lambda env: action)
    assert env.paddle == column


def test_equal_seeds_give_equal_balls():
    def balls(seed):
        env = Catcher()
        return [env.reset(seed=s) and env.ball for s in (seed, *[None] * 20)]

    assert balls(1) == balls(1) != balls(2)
    assert len(set(balls(1))) > 5


def test_text_shows_the_ball_and_the_paddle():
    env = Catcher(5, 3, render_mode="ansi")
    env.reset(seed=0)
    env.ball = 1
    assert env.render() == ".o...\n.....\n..=.."
    env.step(RIGHT)
    assert env.render() == ".....\n.o...\n...=."


def test_images_show_the_ball_and_the_paddle():
    env = Catcher(5, 3, render_mode="rgb_array")
    env.reset(seed=0)
    image = np.asarray(env.render())
    assert image.shape == (24, 40, 3) and image.dtype == np.uint8
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 3
    for row, column in ((0, env.ball), (2, env.paddle)):
        block = image[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
        assert (block == block[0, 0]).all() and (block[0, 0] != image[8, 0]).any()
    assert Catcher(5, 3).render() is None


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Catcher(0), "width of at least 1"),
        (lambda: Catcher(10, -1), "height of at least 1"),
        (lambda: Catcher(10.5), "width as a whole number"),
        (lambda: Catcher(render_mode="human"), r"render_mode of \['ansi', 'rgb_array'\]"),
        (lambda: Catcher().step(2), "action of 0 or 1, found 2"),
        (lambda: Catcher(1, 1), "width of at least 2"),
    ],
)
def test_invalid_arguments_are_rejected(make, error):
    with pytest.raises(easee.ArgumentError, match=error):
        make()

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import easee
from easee.envs import CardinalGrid, RotationGrid, register
from easee.experiments.coverage.simulation import unique_states, walk
from tests.oracles import cardinal_step, rotation_step

GRIDS = [CardinalGrid, RotationGrid]


@pytest.mark.parametrize("name", ["CardinalGrid", "RotationGrid"])
def test_is_registered_and_passes_the_checker(name):
    register()  # a second time, without effect
    assert gym.spec(f"easee/{name}-v0").max_episode_steps == 100
    check_env(gym.make(f"easee/{name}-v0").unwrapped)


@pytest.mark.parametrize(
    ("grid", "step"), [(CardinalGrid, cardinal_step), (RotationGrid, rotation_step)]
)
def test_moves_are_those_of_the_paper(grid, step):
    env = grid((9, 7))
    state, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for action in rng.integers(len(grid.action_names), size=500):
        target = step(tuple(state), grid.action_names[action])
        inside = 0 <= target[0] < 9 and 0 <= target[1] < 7
        expected = target if inside else tuple(state)
        state, reward, terminated, truncated, _ = env.step(action)
        assert tuple(state) == expected and env.observation_space.contains(state)
        assert (reward, terminated, truncated) == (0.0, False, False)


def test_the_episode_ends_after_the_time_limit():
    env = gym.make("easee/CardinalGrid-v0", size=5)
    env.reset()
    flags = [env.step(0)[3] for _ in range(100)]
    assert flags == [False] * 99 + [True]


def test_observations_are_copies():
    env = CardinalGrid(5)
    state, _ = env.reset()
    state[:] = 0
    assert env.step(0)[0].tolist() == [3, 2]


def test_text_and_images_show_the_position_and_heading():
    env = RotationGrid((4, 3), start=(1, 0, 1), render_mode="ansi")
    assert env.render() == "######\n#....#\n#....#\n#.>..#\n######"
    image = np.asarray(RotationGrid((4, 3), render_mode="rgb_array").render())
    assert image.shape == (25, 30, 3) and image.dtype == np.uint8
    red = (image == (200, 30, 30)).all(axis=2)
    assert red.sum() == 24  # a cell without the pixel that shows the heading
    assert CardinalGrid(3).render() is None


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: CardinalGrid(0), "width of at least 1"),
        (lambda: CardinalGrid(5, start=(9, 9)), r"start inside a grid of \(5, 5\), found \[9, 9\]"),
        (lambda: CardinalGrid((3, 4, 5)), r"size as .* \(width, height\), found \(3, 4, 5\)"),
        (lambda: CardinalGrid((3,)), r"size as .* \(width, height\), found \(3,\)"),
        (lambda: CardinalGrid(5, start="ab"), r"start as whole numbers \(x, y\), found 'ab'"),
        (lambda: CardinalGrid(5, start=(1.5, 2)), r"start as whole numbers.* found \(1.5, 2\)"),
        (lambda: RotationGrid(5, start=((1,), 2)), r"start as whole numbers \(x, y, heading\)"),
        (lambda: CardinalGrid(5, start=1), r"start inside a grid of \(5, 5\), found 1"),
        (lambda: CardinalGrid(5, render_mode="human"), "render_mode of .* found 'human'"),
        (lambda: CardinalGrid(5).step(7), "action from 0 to 3, found 7"),
    ],
)
def test_invalid_arguments_are_rejected(make, error):
    with pytest.raises(easee.ArgumentError, match=error):
        make()


@pytest.mark.parametrize("grid", GRIDS)
def test_simulated_walks_equal_those_in_the_environment(grid):
    taken: list[np.ndarray] = []

    class Recording(easee.UniformExplorer):
        """An explorer that records its actions."""

        def sample(self, mask=None):
            taken.append(super().sample(mask))
            return taken[-1]

    explorer = Recording(len(grid.action_names), 7, seed=0)
    visited = walk(grid, explorer, 200, (11, 13))
    for walker in range(7):
        env = grid((11, 13))
        states = [env.reset()[0]] + [env.step(a[walker])[0] for a in taken]
        numbers = np.ravel_multi_index(np.array(states).T, env.shape)
        np.testing.assert_array_equal(visited[:, walker], numbers)


def test_unique_states_are_counted():
    assert unique_states(np.array([[1, 1], [2, 5]])) == 3


def test_an_explorer_with_other_actions_is_rejected():
    with pytest.raises(easee.ArgumentError, match="4 actions"):
        walk(CardinalGrid, easee.UniformExplorer(3), 10)


def test_sizes_must_be_integers():
    assert CardinalGrid(np.int64(5)).size == (5, 5)
    for size in (True, 0, (4.5, 3), "5"):
        with pytest.raises(easee.ArgumentError, match="width"):
            CardinalGrid(size)

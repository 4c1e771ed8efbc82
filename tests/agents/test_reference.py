from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

import easee
from easee.agents.reference import ReferenceObservation, VectorReferenceObservation
from easee.agents.reference_policy import fit_reference, log_reference
from easee.envs import CardinalGrid, GoalGrid
from easee.envs.atari import Atari

TURNING = easee.compile(easee.priors.get("rotation-grid"), 4)
TABLE = easee.Explorer(TURNING, floor=0.1).table


class Vector(GoalGrid):
    """A goal grid with vectors of floats as observations, and action 2 executed as action 1."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observation_space: Any = spaces.Box(0.0, 10.0, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        state, info = super().reset(seed=seed, options=options)
        return state.astype(np.float32), info

    def step(self, action):
        executed = 1 if action == 2 else int(action)
        state, *result, _ = super().step(executed)
        return state.astype(np.float32), *result, {"executed_action": executed}


class Table(Vector):
    """The same with a dictionary of observations."""

    def __init__(self, key="position"):
        super().__init__(5)
        self.key = key
        self.observation_space = spaces.Dict({key: self.observation_space})

    def reset(self, *, seed=None, options=None):
        state, info = super().reset(seed=seed, options=options)
        return {self.key: state}, info

    def step(self, action):
        state, *result = super().step(action)
        return {self.key: state}, *result


def walk(actions, length=4):
    """Return the node before each action and after the last, and the number of actions."""
    node, count, nodes = 0, 0, [0]
    for action in actions:
        node, count = TABLE.next_nodes[node, action], count + 1
        if node < 0 or count == TABLE.depth:
            node = count = 0
        nodes.append(int(node))
    return nodes


def row(node):
    return log_reference(TABLE.probabilities[[node]])[0]


# --- the functions --------------------------------------------------------------------------------


def test_logarithms_are_finite_and_normalised_at_every_strength():
    rng = np.random.default_rng(0)
    p = np.where(rng.random((50, 4)) < 0.3, 0.0, rng.random((50, 4))) + [0, 0, 0, 0.1]
    p /= p.sum(axis=1, keepdims=True)
    mask = rng.random((50, 4)) < 0.6
    mask[:, 3] = True
    for strength in (0.0, 0.3, 1.0, 2.0):
        for allowed in (None, mask):
            restricted = p if allowed is None else np.where(allowed, p, 0)
            restricted = restricted / restricted.sum(axis=1, keepdims=True)
            rows = log_reference(restricted, strength, allowed)
            assert rows.dtype == np.float32 and np.isfinite(rows).all()
            where = np.ones_like(mask) if allowed is None else allowed
            powers = np.where(where, restricted**strength, 0)
            powers = powers / powers.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(np.where(where, np.exp(rows), 0), powers, atol=1e-6)


def test_floors_that_sum_to_1_are_accepted():
    omega = easee.Equivalences(list("abcdefg"), [])
    policy = easee.compile(omega, 2)
    for floor in (1.0, 0.9999999999999999):
        explorer = fit_reference(policy, floor, n_envs=1, n_actions=7)
        np.testing.assert_allclose(explorer.probabilities(), 1 / 7)


# --- a single environment -------------------------------------------------------------------------


def test_a_dictionary_shows_the_present_node():
    env = ReferenceObservation(GoalGrid(5), TURNING)
    observation, _ = env.reset()
    actions = [1, 1, 0, 2, 0, 0, 1]
    seen = [observation] + [env.step(action)[0] for action in actions]
    for found, node in zip(seen, walk(actions), strict=True):
        np.testing.assert_array_equal(found["reference"], row(node))
        assert found in env.observation_space
    assert walk(actions)[1:3] != [0, 0]
    np.testing.assert_array_equal(env.reset()[0]["reference"], row(0))


def test_the_last_observation_shows_the_node_reached():
    env = ReferenceObservation(GoalGrid(5, max_steps=2), TURNING, "info")
    env.reset()
    env.step(1)
    *_, truncated, info = env.step(1)
    assert truncated
    np.testing.assert_array_equal(info["reference"], row(walk([1, 1])[-1]))
    np.testing.assert_array_equal(env.reset()[1]["reference"], row(0))


def test_flat_observations_and_executed_actions():
    env = ReferenceObservation(Vector(5), TURNING, "flat")
    assert env.observation_space.shape == (6,)
    env.reset()
    for actions in ([2], [2, 0]):
        observation = env.step(actions[-1])[0]
        node = walk([1 if action == 2 else action for action in actions])[-1]
        np.testing.assert_array_equal(observation[3:], row(node))
        assert observation in env.observation_space


def test_dictionaries_get_another_entry():
    env = ReferenceObservation(Table(), TURNING)
    assert set(env.reset()[0]) == {"position", "reference"}
    assert env.step(0)[0] in env.observation_space
    with pytest.raises(easee.ArgumentError, match="without an entry 'reference'.*where='info'"):
        ReferenceObservation(Table("reference"), TURNING)
    assert "reference" in ReferenceObservation(Table("reference"), TURNING, "info").reset()[1]


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_the_environment_checker_accepts_it():
    check_env(ReferenceObservation(Vector(5), TURNING), skip_render_check=True)


def test_wrong_arguments_are_rejected():
    with pytest.raises(easee.ArgumentError, match="4 .right, left, up, down"):
        ReferenceObservation(CardinalGrid(), TURNING)
    with pytest.raises(easee.ArgumentError, match="unknown where 'infos': did you mean 'info'"):
        ReferenceObservation(GoalGrid(5), TURNING, "infos")
    with pytest.raises(easee.ArgumentTypeError, match="that are vectors, found MultiDiscrete"):
        ReferenceObservation(GoalGrid(5), TURNING, "flat")
    with pytest.raises(easee.ArgumentTypeError, match="compile them first"):
        ReferenceObservation(GoalGrid(5), easee.priors.get("rotation-grid"))
    with pytest.raises(easee.ArgumentTypeError, match="Discrete actions, found Box"):
        ReferenceObservation(gym.make("Pendulum-v1"), TURNING)
    with pytest.raises(easee.ArgumentError, match="for 3 environments, found 1"):
        ReferenceObservation(GoalGrid(5), easee.Explorer(TURNING, 3))


# --- vector environments --------------------------------------------------------------------------


def vector(mode, *lengths, make=Vector):
    return SyncVectorEnv([partial(make, 5, max_steps=n) for n in lengths], autoreset_mode=mode)


@pytest.mark.parametrize("where", ["dict", "flat", "info"])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_nodes_follow_each_environment(mode, where):
    envs = VectorReferenceObservation(vector(mode, 3, 5), TURNING, where)
    single = [Alone(3, where, mode), Alone(5, where, mode)]
    rng = np.random.default_rng(0)
    observations, info = envs.reset()
    for _ in range(30):
        found = rows_of(observations, info, where)
        np.testing.assert_array_equal(found, [env.row for env in single])
        if where != "info":
            assert observations in envs.observation_space
        actions = rng.integers(3, size=2)
        observations, _, terminated, truncated, info = envs.step(actions)
        for env, action in zip(single, actions, strict=True):
            env.step(action)
        dones = terminated | truncated
        if mode == AutoresetMode.SAME_STEP and dones.any():
            for i in np.flatnonzero(dones):
                if where == "info":
                    final = info["final_reference"][i]
                else:
                    final = rows_of(info["final_obs"][i], None, where)
                np.testing.assert_array_equal(final, single[i].final)


class Alone:
    """One environment stepped by itself with the rules of an autoreset mode."""

    def __init__(self, length, where, mode):
        self.env = ReferenceObservation(Vector(5, max_steps=length), TURNING, where)
        self.where, self.mode, self.ended = where, mode, False
        self._see(*self.env.reset())

    def step(self, action):
        if self.ended:
            self._see(*self.env.reset())
            self.ended = False
            return
        observation, _, terminated, truncated, info = self.env.step(action)
        self._see(observation, info)
        self.ended = terminated or truncated
        if self.ended and self.mode == AutoresetMode.SAME_STEP:
            self.final = self.row
            self._see(*self.env.reset())
            self.ended = False

    def _see(self, observation, info):
        self.row = rows_of(observation, info, self.where)


class Dense(gym.vector.VectorWrapper):
    """Shows the last observations of episodes as a batch, with any value where none ended."""

    def step(self, actions):
        *result, info = self.env.step(actions)
        if "final_obs" in info:
            info = info | {"final_obs": self._batch(info["final_obs"])}
            del info["_final_obs"]
        return *result, info

    def _batch(self, final):
        space = self.env.single_observation_space
        some = next(one for one in final if one is not None)
        filled = [some if one is None else one for one in final]
        return concatenate(space, filled, create_empty_array(space, self.num_envs))


@pytest.mark.parametrize(
    ("make", "where"), [(Vector, "dict"), (Vector, "flat"), (GoalGrid, "dict"), (Table, "dict")]
)
def test_last_observations_may_be_a_batch(make, where):
    def envs():
        ends = [partial(gym.wrappers.TimeLimit, make(), n) for n in (3, 5)]
        return SyncVectorEnv(ends, autoreset_mode=AutoresetMode.SAME_STEP)

    objects = VectorReferenceObservation(envs(), TURNING, where)
    batch = VectorReferenceObservation(Dense(envs()), TURNING, where)
    objects.reset()
    batch.reset()
    ended = 0
    for _ in range(15):
        actions = np.array([1, 2])
        *_, expected = objects.step(actions)
        *_, found = batch.step(actions)
        for i in np.flatnonzero(expected.get("_final_obs", [])):
            assert found["_final_obs"][i]
            assert data_equivalence(found["final_obs"][i], expected["final_obs"][i])
            ended += 1
    assert ended == 8


def test_the_last_observations_of_atari_games_are_extended():
    envs = VectorReferenceObservation(Atari("freeway", 2, max_frames=80), "freeway:3")
    envs.reset(seed=0)
    info: dict[str, Any] = {}
    while "final_obs" not in info:
        *_, info = envs.step(np.array([1, 2]))
    for final in info["final_obs"]:
        assert final in envs.single_observation_space
    rows = [final["reference"] for final in info["final_obs"]]
    assert (rows[0] != rows[1]).any()


def rows_of(observation, info, where):
    if where == "info":
        return info["reference"]
    return observation["reference"] if where == "dict" else observation[..., 3:]


def test_environments_may_be_reset_one_by_one():
    envs = VectorReferenceObservation(vector(AutoresetMode.DISABLED, 3, 5), TURNING)
    envs.reset()
    moved = envs.step(np.array([1, 1]))[0]["reference"]
    observations, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(observations["reference"], [row(0), moved[1]])


def test_names_of_vector_environments_are_checked():
    with pytest.raises(easee.ArgumentError, match="forward, left, right.*right, left, up, down"):
        VectorReferenceObservation(SyncVectorEnv([CardinalGrid]), TURNING)
    envs = gym.make_vec("CartPole-v1", 2, "vector_entry_point")
    with pytest.raises(easee.ArgumentError, match=r"2 \(0, 1\)"):
        VectorReferenceObservation(envs, TURNING)
    with pytest.raises(easee.ArgumentError, match="for 3 environments, found 1"):
        VectorReferenceObservation(SyncVectorEnv([GoalGrid]), easee.Explorer(TURNING, 3))


def test_names_of_atari_games_are_checked():
    omega = easee.Equivalences(list(reversed(Atari("carnival").action_names)), ["RIGHT LEFT ~"])
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        VectorReferenceObservation(Atari("carnival"), easee.compile(omega, 2))

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from easee.agents.population.atari_program import (
    SIDE,
    FrameReplay,
    make_batch,
    pack_update,
    stack_frames,
    unpack_update,
)
from easee.envs.atari import Atari


@pytest.mark.slow
def test_stored_frames_give_the_stacks_of_the_game():
    env = Atari("freeway", 2, max_frames=100)  # episodes of 25 steps
    replay, rng = FrameReplay.empty(2, 40), np.random.default_rng(0)
    frames = np.zeros((2, replay.size, SIDE, SIDE), np.uint8)
    stacks = jax.jit(jax.vmap(stack_frames))
    batches = jax.jit(jax.vmap(partial(make_batch, gamma=0.5)))
    history = []
    stack = env.reset(seed=0)[0]
    frames[:, 0] = stack[:, -1]
    for step in range(130):
        index = step % replay.size
        ours = stacks(frames, jnp.full((2, 1), index), replay.ages[:, index, None])[:, 0]
        np.testing.assert_allclose(ours, stack.transpose(0, 2, 3, 1) / 255, atol=1e-6)
        actions = rng.integers(3, size=2)
        next_stack, rewards, terminated, truncated, _ = env.step(actions)
        dones = terminated | truncated
        replay.add(step, actions, rewards, dones)
        frames[:, (step + 1) % replay.size] = next_stack[:, -1]
        history.append((stack, actions, rewards, dones, next_stack))
        stack = next_stack
        if step % 10 == 9:
            check_batch(batches, replay, frames, history)


def check_batch(batches, replay, frames, history):
    """Check sampled transitions against the last 40 of the history."""
    steps = len(history)
    generators = [np.random.default_rng([steps, i]) for i in range(2)]
    sampled = replay.sample(generators, steps, (16,))
    batch = batches(frames, sampled)
    oldest = max(0, steps - 40)
    for run in range(2):
        for i, index in enumerate(sampled[run, :, 0]):
            (step,) = [s for s in range(oldest, steps) if s % replay.size == index]
            stack, action, reward, done, next_stack = (part[run] for part in history[step])
            assert batch.actions[run, i] == action
            assert batch.rewards[run, i] == reward
            assert batch.discounts[run, i] == (0.0 if done else 0.5)
            observation = batch.observations[run, i]
            np.testing.assert_allclose(observation, stack.transpose(1, 2, 0) / 255, atol=1e-6)
            if not done:
                observation = batch.next_observations[run, i]
                expected = next_stack.transpose(1, 2, 0) / 255
                np.testing.assert_allclose(observation, expected, atol=1e-6)


def test_updates_are_unpacked_as_they_were_packed(rng):
    frame = rng.integers(256, size=(2, SIDE, SIDE)).astype(np.uint8)
    sampled = rng.integers(-(2**31), 2**31, size=(2, 1, 3, 6)).astype(np.int32)
    update = pack_update(frame, 7, np.array([0, 3], np.int32), sampled)
    for run in range(2):
        unpacked = unpack_update(jnp.asarray(update[run]))
        np.testing.assert_array_equal(unpacked[0], frame[run])
        assert (int(unpacked[1]), int(unpacked[2])) == (7, [0, 3][run])
        np.testing.assert_array_equal(unpacked[3], sampled[run].ravel())

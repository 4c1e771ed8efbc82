import jax
import jax.numpy as jnp
import numpy as np
import pytest

from easee.agents.population.replay import StateReplay

GAMMA = 0.9


def filled(steps, *, size, dones=(), truncations=()):
    """Return a buffer after some steps; the state after step t is t + 1, its reward t."""
    replay = StateReplay.empty(size, jnp.int32(0))
    for t in range(steps):
        ends = t in dones or t in truncations
        values = (t, t + 1, t % 3, float(t), float(t in dones), ends)
        replay = replay.add(jnp.int32(t), StateReplay(*map(jnp.asarray, values)))
    return replay


def expected(start, newest, n_steps, dones, truncations):
    """Return the last step, the return and the discount of a segment, by a loop."""
    total, t = 0.0, start
    for k in range(n_steps):
        t = start + k
        total += GAMMA**k * t
        if t in dones or t in truncations or t == newest:
            break
    discount = 0.0 if t in dones else GAMMA ** (t - start + 1)
    return t, total, discount


@pytest.mark.parametrize("n_steps", [1, 2, 5])
@pytest.mark.parametrize(("steps", "size"), [(7, 20), (20, 20), (33, 20), (58, 7)])
def test_segments_are_those_of_a_plain_loop(n_steps, steps, size):
    dones, truncations = {3, 29, 50}, {11, 12, 41, 55}
    replay = filled(steps, size=size, dones=dones, truncations=truncations)
    segments = replay.sample(jax.random.key(0), jnp.int32(steps), 200, n_steps, GAMMA)
    returns = (segments.rewards * segments.weights).sum(axis=1)
    starts = np.asarray(segments.before)
    assert set(starts) == set(range(max(0, steps - size), steps))  # every stored step is drawn
    for i, start in enumerate(starts):
        last, total, discount = expected(start, steps - 1, n_steps, dones, truncations)
        assert segments.final()[i] == last + 1
        assert returns[i] == pytest.approx(total, rel=1e-5)
        assert segments.discounts[i] == pytest.approx(discount, rel=1e-5)
        assert segments.actions[i] == start % 3


def test_one_step_segments_have_the_exact_values_of_the_transition():
    replay = filled(10, size=10, dones={4})
    segments = replay.sample(jax.random.key(1), jnp.int32(10), 50, 1, 0.99)
    starts = np.asarray(segments.before)
    np.testing.assert_array_equal(segments.rewards[:, 0] * segments.weights[:, 0], starts)
    np.testing.assert_array_equal(
        segments.discounts, np.where(starts == 4, 0.0, np.float32(0.99)).astype(np.float32)
    )

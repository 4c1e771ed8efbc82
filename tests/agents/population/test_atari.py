import jax
import jax.numpy as jnp
import numpy as np
import pytest

import easee
from easee import ArgumentError, Explorer, UniformExplorer, ZetaExplorer, priors
from easee.agents.population import frames
from easee.agents.population.atari import AtariPopulation
from easee.agents.population.frames import Kept
from easee.agents.population.learner import Settings
from easee.agents.population.networks import Convolution, Network
from easee.envs.atari import Atari

TINY = Network((Convolution(4, 8, 8), Convolution(8, 4, 3)), hidden=(16,))
SETTINGS = Settings(
    2200, buffer_size=60, learning_starts=20, target_update_interval=16, exploration_fraction=0.05
)


def test_frames_make_the_stacks_that_the_game_shows():
    env = Atari("freeway", 2, max_frames=100)  # episodes of 25 steps
    kept, rng = Kept.empty(2, 40), np.random.default_rng(0)
    store = np.zeros((2, kept.size, 84, 84), np.uint8)
    stacks = jax.jit(jax.vmap(frames.stacks))
    batches = jax.jit(jax.vmap(frames.batch))
    history = []
    seen = env.reset(seed=0)[0]
    store[:, 0] = seen[:, -1]
    for step in range(130):
        place = step % kept.size
        ours = stacks(store, jnp.full((2, 1), place), kept.ages[:, place, None])[:, 0]
        np.testing.assert_allclose(ours, seen.transpose(0, 2, 3, 1) / 255, atol=1e-6)
        actions = rng.integers(3, size=2)
        following, rewards, terminated, truncated, _ = env.step(actions)
        dones = terminated | truncated
        kept.add(step, actions, rewards, dones)
        store[:, (step + 1) % kept.size] = following[:, -1]
        history.append((seen, actions, rewards, dones, following))
        seen = following
        if step % 10 == 9:
            check_batch(batches, kept, store, history, step + 1)


def check_batch(batches, kept, store, history, steps):
    generators = [np.random.default_rng([steps, i]) for i in range(2)]
    sampled = kept.sample(generators, steps, (16,))
    batch = batches(store, sampled)
    oldest = max(0, steps - 40)
    for run in range(2):
        for i, place in enumerate(sampled[run, :, 0]):
            (step,) = [s for s in range(oldest, steps) if s % kept.size == place]
            seen, actions, rewards, dones, following = (part[run] for part in history[step])
            assert batch.actions[run, i] == actions
            assert batch.rewards[run, i] == rewards and batch.dones[run, i] == dones
            show = batch.observations[run, i]
            np.testing.assert_allclose(show, seen.transpose(1, 2, 0) / 255, atol=1e-6)
            if not dones:
                show = batch.next_observations[run, i]
                np.testing.assert_allclose(show, following.transpose(1, 2, 0) / 255, atol=1e-6)


def population(groups=2):
    policy = easee.compile(priors.get("freeway"), depth=4)
    ours = [policy, UniformExplorer(3, seed=1), ZetaExplorer(3, seed=2)]
    return AtariPopulation("freeway", ours, [0, 1, 2], SETTINGS, TINY, bins=4, groups=groups)


@pytest.mark.slow
def test_it_plays_learns_and_goes_on(tmp_path):
    first = population()
    before = jax.tree.map(np.asarray, [group.learner for group in first.groups])
    first.advance(150)
    assert first.steps == 150
    for group, old in zip(first.groups, before, strict=True):
        assert all(
            np.abs(a - b).max() > 0
            for a, b in zip(group.learner.params, old.params, strict=True)
            for a, b in zip(a.values(), b.values(), strict=True)
        )
    first.save(tmp_path / "x.npz")
    second = population()
    second.load(tmp_path / "x.npz")
    assert second.steps == 150
    for ours, theirs in zip(second.groups, first.groups, strict=True):
        np.testing.assert_array_equal(ours.frames, theirs.frames)
        size = ours.kept.size
        assert (ours.kept.ages[:, 150 % size] == 0).all()
        assert (ours.kept.dones[:, 149 % size] == 1).all()
    curves = second.advance()
    assert second.finished
    # 2,048 steps are an episode of Freeway; a new one began after 150.
    assert (curves.counts.sum(axis=1) == 1).all() and (curves.sums >= 0).all()


def test_runs_share_no_explorer():
    explorer = UniformExplorer(3)
    with pytest.raises(ArgumentError, match="found one twice"):
        AtariPopulation("freeway", [explorer, explorer], [0, 1], SETTINGS, TINY)


def test_explorers_must_fit_the_game():
    policy = easee.compile(priors.get("catcher"), depth=3)
    with pytest.raises(ArgumentError, match=r"the environment 3 \(NOOP, UP, DOWN\)"):
        AtariPopulation("freeway", [policy], [0], SETTINGS, TINY)
    with pytest.raises(ArgumentError, match="for 2 environments"):
        freeway = easee.compile(priors.get("freeway"), depth=3)
        AtariPopulation("freeway", [Explorer(freeway, n_envs=2)], [0], SETTINGS, TINY)

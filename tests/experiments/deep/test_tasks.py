from pkgutil import resolve_name

import jax
import numpy as np
import pytest

from easee.experiments.deep.tasks import TASKS, JaxTask


@pytest.mark.parametrize("task", [t for t in TASKS.values() if isinstance(t, JaxTask)])
def test_observations_have_no_more_cells_than_promised(task):
    world = resolve_name(task.world)(20, 10)
    key = jax.random.key(0)
    state = world.reset(key)
    counts = []
    for step in range(200):
        action, new = jax.random.split(jax.random.fold_in(key, step))
        counts.append(np.count_nonzero(np.asarray(world.observe(state)).any(axis=-1)))
        state, _, terminated, _ = world.step(state, jax.random.bernoulli(action))
        state = world.reset(new) if terminated else state
    assert max(counts) == task.pixels

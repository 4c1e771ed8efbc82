import multiprocessing
import os

# Tests run in parallel, so each has one core; libraries read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Tests spend most of their JAX time on compilation. JAX reads these variables when imported.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

multiprocessing.get_start_method()  # fixes the default, which importing TorchRL would change

settings.register_profile(
    "easee",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("easee")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("jax", "easee.agents.population.networks", "jax"),
        ("optax", "easee.agents.population", "jax"),
        ("stable_baselines3", "easee.agents.sb3.vec_env", "sb3"),
        ("sbx", "easee.agents.sbx", "sbx"),
        ("torchrl", "easee.agents.torchrl", "torchrl"),
        ("ray", "easee.agents.rllib", "rllib"),
    ],
)
def test_a_missing_extra_is_named(package, module, extra):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import easee\n"
        f"try: import {module}\n"
        f"except easee.MissingExtraError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert f"pip install '.[{extra}]'" in result.stdout

import subprocess
import sys

import easee


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_public_names_are_sorted_and_documented():
    assert easee.__all__ == sorted(easee.__all__)
    for name in easee.__all__:
        assert getattr(easee, name).__doc__, name


def test_exceptions_derive_from_easee_error():
    names = [name for name in easee.__all__ if name.endswith("Error")]
    assert len(names) >= 8
    assert all(issubclass(getattr(easee, name), easee.EaseeError) for name in names)


def test_import_loads_no_heavy_modules():
    code = (
        "import easee, sys\n"
        "heavy = {'ale_py', 'cvxpy', 'jax', 'matplotlib', 'minigrid', 'optax', 'pandas', 'ray', "
        "'stable_baselines3', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    assert run_python(code).strip() == "[]"


def test_import_registers_the_environments():
    code = (
        "import easee, gymnasium; print(gymnasium.make('easee/RotationGrid-v0').unwrapped); "
        "print(easee.envs.DoorKey.__name__)"
    )
    output = run_python(code)
    assert "RotationGrid" in output and "DoorKey" in output

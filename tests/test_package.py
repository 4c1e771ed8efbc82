import subprocess
import sys

import easee


def test_the_public_surface_is_sorted_and_there():
    assert easee.__all__ == sorted(easee.__all__)
    for name in easee.__all__:
        assert getattr(easee, name).__doc__, name


def test_exceptions_have_one_root():
    names = [n for n in easee.__all__ if n.endswith("Error")]
    assert len(names) >= 8
    assert all(issubclass(getattr(easee, name), easee.EaseeError) for name in names)


def test_import_is_light_and_quick():
    code = (
        "import time; began = time.process_time()\n"
        "import easee, sys\n"
        "heavy = {'torch', 'jax', 'matplotlib', 'cvxpy', 'stable_baselines3', 'ray', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)), time.process_time() - began)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded, seconds = output.rsplit(" ", 1)
    assert loaded == "[]"
    assert float(seconds) < 1.0

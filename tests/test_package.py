import ast
import subprocess
import sys
from pathlib import Path

import easee

SOURCE = Path(easee.__file__).parent

# Left to right, the way the data goes: a module imports only from modules before it.
ORDER = (
    "errors files plotting timing arrays action_names rewriting closure word_problem "
    "equivalences priors automaton graph weights outcomes flow balancing solver policy "
    "chances explorer_base walker explorer rivals probing verification discovery "
    "envs agents experiments construction draw lookup cli"
).split()


def modules():
    for path in SOURCE.rglob("*.py"):
        yield path, path.relative_to(SOURCE).with_suffix("").parts


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts == ["easee"]:
                yield from (alias.name for alias in node.names if alias.name != "__version__")
            elif parts[0] == "easee":
                yield parts[1]
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("easee.") for alias in node.names)


def test_every_module_has_its_place():
    rooms = {parts[0] for _, parts in modules()} - {"__init__"}
    assert rooms == set(ORDER)


def test_imports_follow_the_data_flow():
    for path, parts in modules():
        if parts == ("__init__",):
            continue
        for room in imported_rooms(path):
            assert ORDER.index(room) <= ORDER.index(parts[0]), f"{path.name} imports {room}"
            assert room != parts[0] or len(parts) > 1


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

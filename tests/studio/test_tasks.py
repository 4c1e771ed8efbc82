"""The tasks themselves, in this process."""

import base64
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import easee
from easee.errors import ArgumentError, PriorError
from easee.probing.evidence import Counterexample, RelationCheck
from easee.studio import probing
from easee.studio.compilation import compile_prior, compiled, forecast
from easee.studio.export import figure, policy_file, python_lines
from easee.studio.limits import CONFIRM_NODES, MAX_NODES, SECONDS
from easee.studio.png import encode
from easee.studio.race import race
from easee.studio.tasks import TASKS, check_arguments
from easee.studio.walking import describe_node, sample_walk

ROTATION = str(easee.priors.get("rotation-grid"))
CARDINAL = str(easee.priors.get("cardinal-grid"))


def test_compiling_shows_the_library_s_own_numbers():
    policy = easee.compile(easee.priors.get("rotation-grid"), 4)
    shown = compile_prior(ROTATION, 4)
    assert (shown["nodes"], shown["exact"]) == (len(policy.graph), True)
    assert (shown["entropy"], shown["gap"]) == (policy.entropy, policy.gap)
    assert [layer["size"] for layer in shown["layers"]] == list(policy.graph.layer_sizes[1:])
    assert json.loads(json.dumps(shown, allow_nan=False))["rows"] == [
        list(row) for row in policy.rows()
    ]


def test_a_graph_that_explodes_is_announced_before_it_is_compiled():
    announced = compile_prior(ROTATION, 13)
    assert announced["needs_confirmation"] and announced["nodes"] > CONFIRM_NODES
    too_large = compile_prior(ROTATION, 30)
    assert too_large["fits"] == 14 and "depth 14 fits" in too_large["too_large"]


def test_the_forecast_is_the_largest_depth_that_fits():
    found = forecast(ROTATION)
    assert found["deepest"] == 14 and found["limited_by_nodes"]
    assert found["totals"][3] == 23 and found["totals"][-1] <= MAX_NODES
    assert forecast(str(easee.priors.get("catcher")))["limited_by_nodes"] is False


def test_warnings_of_a_policy_are_shown():
    shown = compile_prior("actions: go wait\nwait ~", 3)
    assert "wait will never be taken" in shown["warnings"][0]


@pytest.mark.parametrize(
    ("text", "depth", "error"),
    [
        ("actions: a\na ~ b", 3, PriorError),
        (5, 3, ArgumentError),
        *((ROTATION, depth, ArgumentError) for depth in (0, 101, "3", [3], None, 3.5)),
    ],
)
def test_wrong_arguments_are_refused(text, depth, error):
    with pytest.raises(error):
        compile_prior(text, depth)


def test_a_node_has_its_probabilities_and_merged_words():
    node = describe_node(ROTATION, 4, ["left", "left"])
    assert node["names"] == "left left" and node["merged"] == ["↷↷"]
    policy = compiled(ROTATION, 4).policy
    row = policy.probabilities[policy.graph.node("left left")]
    assert [action["probability"] for action in node["actions"]] == row.tolist()
    assert [action["kind"] for action in node["actions"]] == ["deeper", "back", "back"]
    assert len(node["path"]) == 3
    assert describe_node(ROTATION, 2, ["left", "left"])["end"] == "depth"
    with pytest.raises(ArgumentError, match="at most 4 actions"):
        describe_node(ROTATION, 4, ["left"] * 5)


def test_a_walk_of_a_real_explorer_stays_on_the_graph():
    word = sample_walk(ROTATION, 6, 1)["word"]
    graph = compiled(ROTATION, 6).policy.graph
    assert graph.depths[graph.node(word)] == 6
    assert sample_walk(ROTATION, 6, 1)["word"] == word


def test_the_race_counts_the_cells_that_it_shows():
    found = race(ROTATION, 5, size=15, walkers=4, steps=30, seed=2)
    assert [runner["method"] for runner in found["runners"]] == ["uniform", "zeta", "easee"]
    for runner in found["runners"]:
        cells = np.array(runner["cells"])
        assert cells.shape == (31, 4) and (cells[0] == 7 + 15 * 7).all()
        seen = [len(set(cells[: t + 1].ravel())) for t in range(31)]
        assert runner["counts"] == seen
        steps = np.abs(np.diff(cells % 15, axis=0)) + np.abs(np.diff(cells // 15, axis=0))
        assert steps.max() == 1


def test_the_race_takes_actions_in_any_order():
    shuffled = CARDINAL.replace("actions: right left up down", "actions: down up left right")
    assert race(shuffled, 4, seed=1)["runners"] == race(CARDINAL, 4, seed=1)["runners"]


def test_the_race_needs_the_actions_of_a_grid():
    with pytest.raises(ArgumentError, match="this prior has left, right, forward, pickup, open"):
        race(str(easee.priors.get("doorkey")), 3)


def test_the_policy_file_is_the_policy(tmp_path):
    exported = policy_file(ROTATION, 3)
    path = tmp_path / exported["name"]
    path.write_bytes(base64.b64decode(exported["base64"]))
    loaded = easee.ExplorationPolicy.load(path)
    assert (loaded.probabilities == compiled(ROTATION, 3).policy.probabilities).all()


def test_the_figure_is_the_library_s_drawing():
    assert "<svg" in figure(CARDINAL, 2)["text"]


def test_the_python_lines_make_the_same_policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    omega = easee.Equivalences(['a"b', "c\\", "d"], ["d ~ @ 0.05", 'a"b c\\ ~ c\\ a"b'])
    names: dict[str, Any] = {}
    exec(python_lines(omega, 3), names)
    assert names["omega"] == omega
    expected = easee.compile(omega, 3)
    assert (names["policy"].probabilities == expected.probabilities).all()
    assert (names["policy"].floors == expected.floors).all()
    assert (tmp_path / "policy.npz").exists()
    exec(python_lines(easee.Equivalences(["a", "b"]), 2), names)


def test_png_files_hold_their_pixels():
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    from PIL import Image

    read = np.asarray(Image.open(io.BytesIO(encode(image))))
    assert (read == image).all()


def test_verification_returns_rates_and_pictures():
    text = f"{ROTATION}\nforward forward ~ forward"
    found = probing.verify_prior(text, "easee/RotationGrid-v0", states=20)
    verdicts = [check["verdict"] for check in found["relations"]]
    assert verdicts[:3] == ["holds"] * 3 and verdicts[3] != "holds"
    pictures = found["relations"][3]["pictures"]["images"]
    assert len(pictures) == 3 and all(p.startswith("data:image/png") for p in pictures)
    assert easee.Equivalences.parse(found["measured"]).actions == ("forward", "left", "right")


@pytest.mark.parametrize(
    "env", ["os:x", "easee.envs:easee/RotationGrid-v0", "GymV26Environment-v0", 7]
)
def test_nothing_is_imported_because_a_page_says_so(env):
    with pytest.raises(ArgumentError, match="registered environment"):
        probing.verify_prior(ROTATION, env)


@pytest.mark.parametrize("state", ["function:os.getcwd", "attribute:__class__", "auto\n", "lambda"])
def test_states_are_of_known_kinds(state):
    with pytest.raises(ArgumentError, match="expected the state as"):
        probing.verify_prior(ROTATION, "easee/RotationGrid-v0", state=state)


def test_options_are_numbers():
    with pytest.raises(ArgumentError, match="found size=os:x"):
        probing.discover_prior("easee/RotationGrid-v0", options="size=os:x")
    found = probing.discover_prior(
        "easee/RotationGrid-v0", options="size=7", max_length=2, states=10, budget=3_000
    )
    assert found["finished"] and "left right ~ Λ" in found["prior"]


def test_environments_are_those_of_the_registry_without_wrappers_of_texts():
    ids = probing.list_environments()["ids"]
    assert ids[0].startswith("easee/") and "MiniGrid-Empty-5x5-v0" in ids
    assert not [name for name in ids if name.startswith("GymV2")]


def test_counterexamples_without_images_are_texts():
    example = Counterexample(np.array([1, 2]), np.array([3, 4]), np.array([5, 6]))
    check = RelationCheck(("a",), (), 10, 1, counterexamples=(example,))
    assert probing.check_values(check)["pictures"] == {"texts": ["[1 2]", "[3 4]", "[5 6]"]}
    drawn = RelationCheck(("a",), (), 10, 1, counterexamples=(replace(example, pictures="xyz"),))
    assert probing.check_values(drawn)["pictures"] == {"texts": ["x", "y", "z"]}


def test_tuning_recommends_a_depth_or_gives_a_reason():
    found = probing.tune_prior(CARDINAL, "easee/CardinalGrid-v0", steps=9000)
    assert found["reason"] and len(found["rows"]) == len(found["measurements"])


def test_every_task_has_a_time_limit():
    assert set(TASKS) == set(SECONDS)
    with pytest.raises(ArgumentError, match="did you mean 'compile'"):
        check_arguments("compiel", {})
    with pytest.raises(ArgumentError, match="compile takes text, depth, confirmed, found text"):
        check_arguments("compile", {"text": ""})
    with pytest.raises(ArgumentError, match="verify takes"):
        check_arguments("verify", {"text": "", "env": "", "progress": 1})

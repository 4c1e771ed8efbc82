import gymnasium as gym
import pytest

from easee.envs import Catcher
from easee.envs.minigrid import minigrid_state
from easee.probing.environments import make_env, state_reader, sticky_note
from easee.probing.state_keys import label_of


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ALE/Freeway-v5", "byte 14 of the game's memory"),
        ("ALE/Boxing-v5", "byte 32, 34 of the game's memory"),
        ("ALE/Carnival-v5", "byte 2 of the game's memory"),
    ],
)
def test_auto_state_of_the_paper_s_games_is_the_player_s_position(name, label):
    assert label_of(state_reader("auto", make_env(name))) == label


def test_state_readers_are_chosen_by_environment_and_option():
    for name in ("MiniGrid-DoorKey-6x6-v0", "easee/DoorKey-v0"):
        assert state_reader("auto", make_env(name)) is minigrid_state
    assert state_reader("auto", make_env("easee/RotationGrid-v0")) == "observation"
    assert state_reader("observation", make_env("MiniGrid-DoorKey-6x6-v0")) == "observation"
    memory = state_reader("ram:3,14", make_env("ALE/Freeway-v5"))
    assert label_of(memory) == "byte 3, 14 of the game's memory"


def test_sticky_actions_are_off_unless_set():
    sticky = ["repeat_action_probability=0.25"]
    for options, stickiness in (([], 0.0), (sticky, 0.25)):
        game = make_env("ALE/Freeway-v5", options).get_wrapper_attr("ale")
        assert game.getFloat("repeat_action_probability") == stickiness
    game = make_env("ale_py:ALE/Freeway-v5").get_wrapper_attr("ale")
    assert game.getFloat("repeat_action_probability") == 0.0
    assert sticky_note("ale_py:ALE/Freeway-v5", []) == sticky_note("ALE/Freeway-v5", [])
    assert "sticky" in sticky_note("ALE/Freeway-v5", [])[0]
    assert sticky_note("ALE/Freeway-v5", sticky) == sticky_note("CartPole-v1", []) == []


def test_options_are_parsed_as_literals():
    env = make_env("easee/RotationGrid-v0", ["size=(5, 7)", "render_mode=ansi"])
    assert env.get_wrapper_attr("size") == (5, 7) and env.render_mode == "ansi"
    spec = make_env("FrozenLake-v1", ["is_slippery=false"]).spec
    assert spec is not None and spec.kwargs["is_slippery"] is False


def test_render_sets_the_default_render_mode():
    assert make_env("easee/RotationGrid-v0", render=True).render_mode == "rgb_array"
    assert make_env("easee/RotationGrid-v0").render_mode is None
    env = make_env("easee/RotationGrid-v0", ["render_mode=ansi"], render=True)
    assert env.render_mode == "ansi"


def test_the_package_before_the_colon_is_imported(tmp_path, monkeypatch):
    code = "import gymnasium\ngymnasium.register('Own-v0', 'easee.envs:Catcher')\n"
    (tmp_path / "own_package.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(make_env("own_package:Own-v0").unwrapped, Catcher)
    gym.registry.pop("Own-v0")

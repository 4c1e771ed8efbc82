import gymnasium as gym
import pytest

from easee.cli.environments import make_env, state_reader, sticky_note
from easee.envs.minigrid import minigrid_state


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ALE/Freeway-v5", "byte 14 of the game's memory"),
        ("ALE/Boxing-v5", "byte 32, 34 of the game's memory"),
        ("ALE/Carnival-v5", "byte 2 of the game's memory"),
    ],
)
def test_auto_state_of_the_paper_s_games_is_the_player_s_position(name, label):
    assert state_reader("auto", make_env(name)).label == label


def test_state_readers():
    for name in ("MiniGrid-DoorKey-6x6-v0", "easee/DoorKey-v0"):
        assert state_reader("auto", make_env(name)) is minigrid_state
    assert state_reader("auto", make_env("easee/RotationGrid-v0")) is None
    assert state_reader("observation", make_env("MiniGrid-DoorKey-6x6-v0")) is None
    assert state_reader("ram:3,14", make_env("ALE/Freeway-v5")).places == [3, 14]


def test_sticky_actions_are_off_unless_set():
    sticky = ["repeat_action_probability=0.25"]
    for options, stickiness in (([], 0.0), (sticky, 0.25)):
        game = make_env("ALE/Freeway-v5", options).unwrapped.ale
        assert game.getFloat("repeat_action_probability") == stickiness
    game = make_env("ale_py:ALE/Freeway-v5").unwrapped.ale
    assert game.getFloat("repeat_action_probability") == 0.0
    assert sticky_note("ale_py:ALE/Freeway-v5", []) == sticky_note("ALE/Freeway-v5", [])
    assert "sticky" in sticky_note("ALE/Freeway-v5", [])[0]
    assert sticky_note("ALE/Freeway-v5", sticky) == sticky_note("CartPole-v1", []) == []


def test_options_are_parsed_as_literals():
    env = make_env("easee/RotationGrid-v0", ["size=(5, 7)", "render_mode=ansi"])
    assert env.unwrapped.size == (5, 7) and env.render_mode == "ansi"


def test_render_sets_the_default_render_mode():
    assert make_env("easee/RotationGrid-v0", render=True).render_mode == "rgb_array"
    assert make_env("easee/RotationGrid-v0").render_mode is None
    env = make_env("easee/RotationGrid-v0", ["render_mode=ansi"], render=True)
    assert env.render_mode == "ansi"


def test_package_prefix_is_imported():
    assert isinstance(make_env("minigrid:MiniGrid-Empty-5x5-v0"), gym.Env)

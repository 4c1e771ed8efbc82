from easee.envs.atari import ram_state
from easee.envs.minigrid import minigrid_state
from easee.probing.state_keys import label_of


def test_labels_describe_what_is_compared():
    assert label_of(None) == "observations"
    assert label_of(minigrid_state) == "MiniGrid's whole states"
    assert label_of(ram_state(14, 3)) == "byte 14, 3 of the game's memory"
    assert label_of(ram_state()) == "the game's memory"
    assert "function" in label_of(lambda env: 0)

"""Small environments: rings in which some actions rarely have an effect, and a nameless line."""

import gymnasium as gym


class Ring(gym.Env):
    """A ring of squares; a walk that starts anywhere is on each of them equally often."""

    action_names: tuple[str, ...] = ("left", "right")
    observation_space = gym.spaces.MultiDiscrete([100, 2])

    def __init__(self, size):
        self.size = size
        self.action_space = gym.spaces.Discrete(len(self.action_names))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.on = int(self.np_random.integers(self.size)), 0
        return (self.at, self.on), {}

    def step(self, action):
        self.act(self.action_names[action])
        return (self.at, self.on), 0.0, False, False, {}

    def act(self, name):
        self.at = (self.at + {"left": -1, "right": 1}.get(name, 0)) % self.size


class JumpRing(Ring):
    """A ring in which `jump` swaps two of the squares, and so fails to do nothing in 2 / size."""

    action_names = ("left", "right", "jump", "wait")

    def act(self, name):
        super().act(name)
        if name == "jump" and self.at in (0, self.size // 2):
            self.at = self.size // 2 - self.at


class ButtonRing(Ring):
    """A ring with a button on one square, which `press` presses and `release` releases.

    One of the two has an effect on the square of the button, and none elsewhere.
    """

    action_names = ("left", "right", "press", "release", "wait")

    def act(self, name):
        super().act(name)
        if self.at == 0 and name in ("press", "release"):
            self.on = int(name == "press")


class Line(gym.Env):
    """A line of squares, without names for its two actions; the first one moves to the left."""

    observation_space = gym.spaces.Discrete(20)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 10
        return self.at, {}

    def step(self, action):
        self.at = min(max(self.at + 2 * int(action) - 1, 0), 19)
        return self.at, 0.0, False, False, {}

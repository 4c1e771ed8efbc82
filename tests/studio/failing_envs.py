"""Environments that go wrong while they are probed, for `--import`."""

import os
import time

import gymnasium as gym

from easee.envs import RotationGrid


class Raises(RotationGrid):
    def step(self, action):
        raise RuntimeError("the motor is on fire")


class Exits(RotationGrid):
    def step(self, action):
        os._exit(3)


class Hangs(RotationGrid):
    def step(self, action):
        time.sleep(60)
        return super().step(action)


for kind in (Raises, Exits, Hangs):
    gym.register(f"failing/{kind.__name__}-v0", entry_point=kind)

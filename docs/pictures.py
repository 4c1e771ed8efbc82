"""The paper's Figures 5 and 6 and the tutorial's room, most drawn by the environments' renderers.

Run it as `python docs/pictures.py`.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import minigrid  # noqa: F401  (registers its environments)

from easee.envs.atari import single
from easee.envs.catcher import Catcher
from easee.envs.doorkey import DoorKey
from easee.viz.files import save, subplots
from easee.viz.style import WIDTH, styled

IMAGES = Path(__file__).parent / "images"


def draw_environments() -> None:
    """Draw DoorKey, Catcher and Freeway side by side."""
    doorkey = DoorKey(render_mode="rgb_array")
    catcher = Catcher(width=20, height=10, render_mode="rgb_array")  # small, to be visible
    freeway = single("freeway", render_mode="rgb_array")
    for env in (doorkey, catcher, freeway):
        env.reset(seed=3)
    for _ in range(4):
        catcher.step(0)
    for _ in range(60):
        freeway.step(1)
    images = {
        "DoorKey (MiniGrid)": doorkey.render(),
        "Catcher: ball and paddle (20 x 10)": catcher.render(),
        "Freeway (Atari)": freeway.render(),
    }
    ratios = [image.shape[1] / image.shape[0] for image in images.values()]
    with styled():
        figure, panels = subplots(1, 3, figsize=(WIDTH, 2.5), width_ratios=ratios)
        for axes, (title, image) in zip(panels, images.items(), strict=True):
            axes.imshow(image)
            axes.set_title(title)
            axes.set_axis_off()
        save(figure, IMAGES / "environments.png")


def draw_room() -> None:
    """Draw the room of the tutorial."""
    env = gym.make("MiniGrid-Empty-16x16-v0", render_mode="rgb_array")
    env.reset(seed=0)
    figure, axes = subplots(figsize=(3.6, 3.6))
    axes.imshow(env.render())
    axes.set_axis_off()
    save(figure, IMAGES / "room.png", dpi=110)


if __name__ == "__main__":
    draw_environments()
    draw_room()

"""The animation at the top of the README: uniform actions beside EASEE on CardinalGrid.

The walks are those of `easee run heatmap`, 100 episodes shown at once, step by step. Run it as
`python docs/animation.py`; it writes `images/exploration.gif`.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from easee._utils.files import replacing
from easee.experiments.coverage.heatmap import ARMS, DEPTH
from easee.experiments.coverage.simulation import EPISODES, SIZE, STEPS, walk_run
from easee.experiments.harness.figure import Run
from easee.viz.style import METHODS

FILE = Path(__file__).parent / "images" / "exploration.gif"
TITLES = {"uniform": METHODS["uniform"].name, "easee": f"EASEE, depth {DEPTH}"}
CELL = 4  # pixels
TOP, BOTTOM, GAP = 84, 40, 20  # pixels above, below and around the maps
MOST = 300  # visits of a cell that have the last colour
COLOURS = 48  # of the palette
STEP_TIME, LAST_TIME = 70, 3500  # milliseconds


def main() -> None:
    """Walk, draw a frame for every step, and write the animation."""
    walks = {arm: walk_run(Run(arm, 0, settings), EPISODES) for arm, settings in ARMS.items()}
    frames = [frame(walks, step) for step in range(STEPS + 1)]
    palette = frames[-1].quantize(COLOURS)
    small = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in frames]
    times = [STEP_TIME] * STEPS + [LAST_TIME]
    buffer = io.BytesIO()
    small[0].save(
        buffer, "GIF", save_all=True, append_images=small[1:], duration=times, loop=0, disposal=1
    )
    with replacing(FILE) as file:
        file.write(buffer.getvalue())


def frame(walks: dict[str, NDArray[np.int32]], step: int) -> Image.Image:
    """Return the picture after a number of steps."""
    width, height = (CELL * cells for cells in SIZE)
    canvas = Image.new("RGB", (2 * width + 3 * GAP, TOP + height + BOTTOM), "white")
    draw = ImageDraw.Draw(canvas)
    for i, (arm, seen) in enumerate(walks.items()):
        left = GAP + i * (width + GAP)
        counts = np.bincount(seen[: step + 1].ravel(), minlength=SIZE[0] * SIZE[1]).reshape(SIZE)
        image = Image.fromarray(colours(counts)).resize((width, height), Image.Resampling.NEAREST)
        canvas.paste(image, (left, TOP))
        draw.rectangle((left - 1, TOP - 1, left + width, TOP + height), outline="#999999")
        middle, colour = left + width // 2, METHODS[arm].colour
        draw.text((middle, 24), TITLES[arm], colour, font(24), anchor="mm")
        cells = f"{np.count_nonzero(counts):,} cells"
        draw.text((middle, 60), cells, colour, font(30, bold=True), anchor="mm")
    caption = f"grid of {SIZE[0]} x {SIZE[1]}, {EPISODES} episodes at once, step {step} of {STEPS}"
    draw.text((canvas.width // 2, canvas.height - 18), caption, "black", font(20), anchor="mm")
    return canvas


def colours(counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the pixels of a map of visits: white where there are none, logarithmic elsewhere."""
    scale = np.log(np.maximum(counts, 1)) / np.log(MOST)
    # Few tones keep the file small.
    tones = matplotlib.colormaps["viridis"](np.round(12 * np.minimum(scale, 1.0)) / 12)[..., :3]
    pixels = np.where(counts[..., None] > 0, np.round(255 * tones), 255).astype(np.uint8)
    return pixels.swapaxes(0, 1)[::-1]  # columns to the right, rows upwards


def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return a font that comes with matplotlib."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts", "ttf", name), size)


if __name__ == "__main__":
    main()

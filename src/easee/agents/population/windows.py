"""Convolutions of nearly empty images, computed around the cells that are not 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from easee.agents.population.convolutions import (
    Activation,
    Convolution,
    Params,
    Shape,
    convolve,
    convolve_once,
)


def convolve_around_cells(
    layers: Sequence[Convolution], params: Params, images: Array, activate: Activation, cells: int
) -> Array:
    """Return the same as `convolve` if at most a number of cells of an image are not 0.

    An output that sees none of these cells is that of an image of zeros. The others are computed in
    a window around each cell, from the part of the image that they see.
    """
    background = convolve(layers, params, jnp.zeros_like(images[:1]), activate)
    outputs = jnp.broadcast_to(background, (len(images), *background.shape[1:]))
    border = 0  # how far windows of the input can exceed the image
    for layer in reversed(layers):
        border = border * layer.stride + layer.padding
    padded = jnp.pad(images, ((0, 0), (border, border), (border, border), (0, 0)))
    for cell in _nonzero_cells(images, cells):
        windows, sizes = _windows(layers, cell, images.shape[1:3])
        values = windows[0].shifted(border).cut(padded)
        for layer, p, window, size in zip(layers, params, windows[1:], sizes, strict=False):
            values = convolve_once(replace(layer, padding=0), p, values, activate)
            if border:
                values = window.clear_outside(values, size)
        outputs = windows[-1].paste(outputs, values)
    return outputs


def _windows(
    layers: Sequence[Convolution], cell: tuple[Array, Array], size: Shape
) -> tuple[list[_Window], list[Shape]]:
    """Return the windows that a nonzero cell affects, and the sizes of the layers' outputs.

    The last window holds all outputs of the last layer that see the cell; the others hold, for each
    layer, the inputs that these outputs see.
    """
    sizes: list[Shape] = []
    last = _Window(cell, (1, 1))
    for layer in layers:
        size = (layer.size(size[0]), layer.size(size[1]))
        last = last.after(layer, size)
        sizes.append(size)
    windows = [last]
    for layer in reversed(layers):
        windows.insert(0, windows[0].inputs(layer))
    return windows, sizes


@dataclass(frozen=True)
class _Window:
    """A window in each image of a batch: first row and column, (batch,) each, and size."""

    start: tuple[Array, Array]
    size: tuple[int, int]

    def after(self, layer: Convolution, image: Shape) -> _Window:
        """Return the window of all outputs of a layer that see this one, in images of a size."""
        reach = layer.kernel - 1
        starts, sizes = [], []
        for first, size, most in zip(self.start, self.size, image, strict=True):
            sizes.append(min((size - 1 + reach) // layer.stride + 1, most))
            lowest = -((reach - layer.padding - first) // layer.stride)  # rounded up
            starts.append(jnp.clip(lowest, 0, most - sizes[-1]))
        return _Window((starts[0], starts[1]), (sizes[0], sizes[1]))

    def inputs(self, layer: Convolution) -> _Window:
        """Return the window that these outputs of a layer see, which may exceed the image."""
        row, column = (first * layer.stride - layer.padding for first in self.start)
        height, width = ((n - 1) * layer.stride + layer.kernel for n in self.size)
        return _Window((row, column), (height, width))

    def shifted(self, distance: int) -> _Window:
        """Return the window moved down and right by a distance."""
        return replace(self, start=(self.start[0] + distance, self.start[1] + distance))

    def cut(self, images: Array) -> Array:
        """Return the part of each image in the window."""

        def cut(image: Array, row: Array, column: Array) -> Array:
            return jax.lax.dynamic_slice(image, (row, column, 0), (*self.size, image.shape[2]))

        return jax.vmap(cut)(images, *self.start)

    def clear_outside(self, values: Array, size: Shape) -> Array:
        """Return the values in the window, with zeros outside an image of a size."""
        rows, columns = (
            first[:, None] + jnp.arange(n) for first, n in zip(self.start, self.size, strict=True)
        )
        inside = ((rows >= 0) & (rows < size[0]))[:, :, None]
        inside &= ((columns >= 0) & (columns < size[1]))[:, None, :]
        return jnp.where(inside[:, :, :, None], values, 0.0)

    def paste(self, images: Array, parts: Array) -> Array:
        """Return the images with the window replaced in each."""

        def paste(image: Array, part: Array, row: Array, column: Array) -> Array:
            return jax.lax.dynamic_update_slice(image, part, (row, column, 0))

        return jax.vmap(paste)(images, parts, *self.start)


def _nonzero_cells(images: Array, most: int) -> Iterator[tuple[Array, Array]]:
    """Yield the row and the column, (batch,) each, of each nonzero cell of an image, in order.

    There are `most` of them; for images with fewer, the last cell of the image follows.
    """
    count, height, width, _ = images.shape
    nonzero = (images != 0).any(axis=3).reshape(count, -1)
    cells = jnp.arange(height * width)
    cell = jnp.full(count, -1)
    for _ in range(most):
        later = nonzero & (cells > cell[:, None])
        cell = jnp.where(later, cells, cells[-1]).min(axis=1)
        yield cell // width, cell % width

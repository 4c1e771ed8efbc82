"""Convolutions as patches times a matrix.

Under `vmap` over seeds, each with its own weights, that becomes one batched product, whereas
`lax.conv` becomes a slow grouped convolution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

Shape = tuple[int, ...]
Params = list[dict[str, Array]]  # "w" and "b" of each layer
Activation = Callable[[Array], Array]


@dataclass(frozen=True)
class Convolution:
    """A convolutional layer: output channels, side of the kernel, stride, zeros at each border."""

    channels: int
    kernel: int
    stride: int
    padding: int = 0

    def size(self, side: int) -> int:
        """Return the size of the output along an axis of the input of size `side`."""
        return (side + 2 * self.padding - self.kernel) // self.stride + 1


def convolve(
    layers: Sequence[Convolution], params: Params, images: Array, activate: Activation
) -> Array:
    """Return the outputs of the last layer, (batch, height, width, channels)."""
    for layer, p in zip(layers, params, strict=False):
        images = convolve_once(layer, p, images, activate)
    return images


def convolve_once(
    layer: Convolution, p: dict[str, Array], images: Array, activate: Activation
) -> Array:
    """Return the outputs of a layer, (batch, height, width, channels)."""
    return activate(_patches(images, layer) @ _matrix(p["w"], layer) + p["b"])


def _block_side(layer: Convolution) -> int:
    """Return the side of the blocks that images are cut into, for fewer and wider patches."""
    return layer.stride if layer.kernel % layer.stride == 0 else 1


def _patches(images: Array, layer: Convolution) -> Array:
    """Return the input of each output, (batch, height, width, kernel * kernel * channels)."""
    side = _block_side(layer)
    height, width = (layer.size(n) for n in images.shape[1:3])
    border = (layer.padding, layer.padding)
    images = jnp.pad(images, ((0, 0), border, border, (0, 0)))
    kernel, stride = layer.kernel // side, layer.stride // side
    if side > 1:
        rows, columns = (n // side for n in images.shape[1:3])
        cut = images[:, : rows * side, : columns * side]
        cut = cut.reshape(len(images), rows, side, columns, side, -1)
        images = cut.transpose(0, 1, 3, 2, 4, 5).reshape(len(images), rows, columns, -1)
    patches = [
        images[:, i : i + stride * height : stride, j : j + stride * width : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return jnp.concatenate([patch[:, :height, :width] for patch in patches], axis=-1)


def _matrix(weights: Array, layer: Convolution) -> Array:
    """Return weights (kernel, kernel, in, out) in the order of the patches."""
    side = _block_side(layer)
    n = layer.kernel // side
    cut: Any = weights.reshape(n, side, n, side, *weights.shape[2:])
    return jnp.asarray(cut.transpose(0, 2, 1, 3, 4, 5).reshape(-1, weights.shape[-1]))

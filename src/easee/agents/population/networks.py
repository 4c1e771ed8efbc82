"""Networks as data and pure functions, initialised as in Stable-Baselines3.

Convolutions are computed as patches times a matrix. Under `vmap` over seeds, each with its own
weights, that becomes one batched product, whereas `lax.conv` becomes a slow grouped convolution.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, ArgumentTypeError

Shape = tuple[int, ...]
Params = list[dict[str, Array]]  # "w" and "b" of each layer


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


def check_hidden(hidden: tuple[int, ...]) -> None:
    """Check the numbers of units of hidden layers."""
    if not isinstance(hidden, tuple):
        raise ArgumentTypeError(f"expected hidden as a tuple such as (64, 64), found {hidden!r}")
    for units in hidden:
        checked_count(units, "units of a hidden layer")


@dataclass(frozen=True)
class Network:
    """Convolutions followed by fully connected layers, with an activation between layers.

    Attributes:
        convolutions: layers for observations (height, width, channels); none for vectors.
        hidden: number of units of each hidden layer.
        layer_norm: whether the inputs of each activation are normalised to mean 0 and variance 1
            over the units of a layer (Ba et al., 2016), without a learned scale.
        tanh: whether the activation is tanh instead of ReLU.
        pixels: if positive, at most so many cells of an observation are not 0, and convolutions are
            computed around these cells only. The result is the same.
    """

    convolutions: tuple[Convolution, ...] = ()
    hidden: tuple[int, ...] = (64, 64)
    layer_norm: bool = False
    tanh: bool = False
    pixels: int = 0

    def __post_init__(self) -> None:
        check_hidden(self.hidden)
        if self.pixels < 0 or (self.pixels and not self.convolutions):
            raise ArgumentError(
                f"expected pixels of at least 0, and of 0 without convolutions, found {self}"
            )
        if self.pixels and self.layer_norm:
            raise ArgumentError(
                f"expected no layer norm for pixels={self.pixels}, found {self}: leave out pixels"
            )

    def init(self, key: Array, observation_shape: Shape, n_actions: int) -> Params:
        """Return random weights, uniform within 1 / sqrt(fan-in) as by default in PyTorch."""
        layers = self.layers(observation_shape, n_actions)
        keys = jax.random.split(key, len(layers))
        return [_init_layer(k, shape) for k, (shape, _) in zip(keys, layers, strict=True)]

    def layers(self, observation_shape: Shape, n_actions: int) -> list[tuple[Shape, int]]:
        """Return the shape of each layer's weights and the number of positions they apply to."""
        layers: list[tuple[Shape, int]] = []
        shape = observation_shape
        if self.convolutions and len(shape) != 3:
            raise ArgumentError(
                "expected observations (height, width, channels) for convolutions, found shape "
                f"{shape}: use a network without convolutions, e.g. networks.MLP"
            )
        for layer in self.convolutions:
            weights = (layer.kernel, layer.kernel, shape[2], layer.channels)
            shape = (layer.size(shape[0]), layer.size(shape[1]), layer.channels)
            if min(shape) < 1:
                raise ArgumentError(
                    f"observations of shape {observation_shape} are too small for the convolutions "
                    f"{self.convolutions}: use fewer or smaller ones, or none (networks.MLP)"
                )
            layers.append((weights, shape[0] * shape[1]))
        sizes = pairwise((math.prod(shape), *self.hidden, n_actions))
        return layers + [(weights, 1) for weights in sizes]

    def activations(self, observation_shape: Shape) -> int:
        """Return the number of activations, patches included, for one observation."""
        layers = self.layers(observation_shape, 1)[: len(self.convolutions)]
        patches = sum(count * (math.prod(shape[:-1]) + shape[-1]) for shape, count in layers)
        return math.prod(observation_shape) + patches + sum(self.hidden)

    def apply(self, params: Params, observations: Array) -> Array:
        """Return the values (batch, n_actions) of observations (batch, ...)."""
        convolve = self._convolve_around_pixels if self.pixels else self._convolve
        values = convolve(params, observations).reshape(len(observations), -1)
        *dense, last = params[len(self.convolutions) :]
        for p in dense:
            values = self._activate(values @ p["w"] + p["b"])
        return values @ last["w"] + last["b"]

    def _convolve(self, params: Params, images: Array) -> Array:
        """Return the outputs of the convolutions, (batch, height, width, channels)."""
        for layer, p in zip(self.convolutions, params, strict=False):
            images = self._convolve_once(layer, p, images)
        return images

    def _convolve_once(self, layer: Convolution, p: dict[str, Array], images: Array) -> Array:
        return self._activate(_patches(images, layer) @ _matrix(p["w"], layer) + p["b"])

    def _convolve_around_pixels(self, params: Params, images: Array) -> Array:
        """Return the same if at most `pixels` cells of an image are not 0.

        An output that sees none of these cells is that of an image of zeros. The others are
        computed in a window around each cell, from the part of the image that they see.
        """
        background = self._convolve(params, jnp.zeros_like(images[:1]))
        outputs = jnp.broadcast_to(background, (len(images), *background.shape[1:]))
        border = 0  # how far windows of the input can exceed the image
        for layer in reversed(self.convolutions):
            border = border * layer.stride + layer.padding
        padded = jnp.pad(images, ((0, 0), (border, border), (border, border), (0, 0)))
        for cell in _nonzero_cells(images, self.pixels):
            windows, sizes = self._windows(cell, images.shape[1:3])
            values = windows[0].shifted(border).cut(padded)
            for layer, p, window, size in zip(
                self.convolutions, params, windows[1:], sizes, strict=False
            ):
                values = self._convolve_once(replace(layer, padding=0), p, values)
                if border:
                    values = window.clear_outside(values, size)
            outputs = windows[-1].paste(outputs, values)
        return outputs

    def _windows(
        self, cell: tuple[Array, Array], size: Shape
    ) -> tuple[list["_Window"], list[Shape]]:
        """Return the windows that a nonzero cell affects, and the sizes of the layers' outputs.

        The last window holds all outputs of the last layer that see the cell; the others hold, for
        each layer, the inputs that these outputs see.
        """
        sizes: list[Shape] = []
        last = _Window(cell, (1, 1))
        for layer in self.convolutions:
            size = (layer.size(size[0]), layer.size(size[1]))
            last = last.after(layer, size)
            sizes.append(size)
        windows = [last]
        for layer in reversed(self.convolutions):
            windows.insert(0, windows[0].inputs(layer))
        return windows, sizes

    def _activate(self, values: Array) -> Array:
        """Return the outputs of a layer, normalised over all axes but the batch's."""
        if self.layer_norm:
            axes = tuple(range(1, values.ndim))
            values = jax.nn.standardize(values, axis=axes, epsilon=1e-5)
        return jnp.tanh(values) if self.tanh else jax.nn.relu(values)


@dataclass(frozen=True)
class ActorCritic:
    """Two networks of the same kind, without common weights: one for the logits, one for the value.

    With the default, this is the "MlpPolicy" of Stable-Baselines3's PPO.
    """

    body: Network = Network(tanh=True)

    def init(self, key: Array, observation_shape: Shape, n_actions: int) -> tuple[Params, Params]:
        """Return the weights of actor and critic: orthogonal matrices, and biases of 0.

        The last layer is scaled by 0.01 for the actor, so that its first policy is nearly uniform.
        """
        actor, critic = jax.random.split(key)
        return (
            self._init(actor, self.body.layers(observation_shape, n_actions), 0.01),
            self._init(critic, self.body.layers(observation_shape, 1), 1.0),
        )

    def _init(self, key: Array, layers: list[tuple[Shape, int]], last: float) -> Params:
        keys = jax.random.split(key, len(layers))
        scales = [2**0.5] * (len(layers) - 1) + [last]
        return [
            {"w": scale * _orthogonal(k, shape), "b": jnp.zeros(shape[-1])}
            for k, scale, (shape, _) in zip(keys, scales, layers, strict=True)
        ]

    def activations(self, observation_shape: Shape) -> int:
        """Return the number of activations, patches included, for one observation."""
        return 2 * self.body.activations(observation_shape)

    def logits(self, params: tuple[Params, Params], observations: Array) -> Array:
        """Return the logits (batch, n_actions) of observations (batch, ...)."""
        return self.body.apply(params[0], observations)

    def values(self, params: tuple[Params, Params], observations: Array) -> Array:
        """Return the values (batch,) of observations (batch, ...)."""
        return self.body.apply(params[1], observations)[:, 0]


def _orthogonal(key: Array, shape: Shape) -> Array:
    """Return weights whose columns, or rows if there are fewer, are random and orthonormal.

    By Gram-Schmidt instead of JAX's own initialiser: on a CPU, several QR decompositions under
    `vmap` can wait for each other forever, because each blocks a thread of the same pool.
    """
    rows, columns = math.prod(shape[:-1]), shape[-1]
    count = min(rows, columns)
    vectors = jax.random.normal(key, (count, max(rows, columns)))

    def normalise(i: Array, vectors: Array) -> Array:
        earlier = jnp.where(jnp.arange(count)[:, None] < i, vectors, 0.0)
        vector = vectors[i]
        for _ in range(2):  # once is not accurate enough
            vector = vector - (earlier @ vector) @ earlier
        return vectors.at[i].set(vector / jnp.linalg.norm(vector))

    basis: Array = jax.lax.fori_loop(0, count, normalise, vectors)
    return (basis.T if rows > columns else basis).reshape(shape)


def clip_norm(gradient: Any, most: float) -> Any:
    """Return a gradient scaled down to a norm of at most `most`, as by `clip_grad_norm_`."""
    # PyTorch adds the same small number.
    scale = jnp.minimum(1.0, most / (optax.tree.norm(gradient) + 1e-6))
    return jax.tree.map(lambda g: g * scale, gradient)


def _init_layer(key: Array, shape: Shape) -> dict[str, Array]:
    bound = math.prod(shape[:-1]) ** -0.5
    weights, biases = jax.random.split(key)
    return {
        "w": jax.random.uniform(weights, shape, minval=-bound, maxval=bound),
        "b": jax.random.uniform(biases, shape[-1:], minval=-bound, maxval=bound),
    }


@dataclass(frozen=True)
class _Window:
    """A window in each image of a batch: first row and column, (batch,) each, and size."""

    start: tuple[Array, Array]
    size: tuple[int, int]

    def after(self, layer: Convolution, image: Shape) -> "_Window":
        """Return the window of all outputs of a layer that see this one, in images of a size."""
        reach = layer.kernel - 1
        starts, sizes = [], []
        for first, size, most in zip(self.start, self.size, image, strict=True):
            sizes.append(min((size - 1 + reach) // layer.stride + 1, most))
            lowest = -((reach - layer.padding - first) // layer.stride)  # rounded up
            starts.append(jnp.clip(lowest, 0, most - sizes[-1]))
        return _Window((starts[0], starts[1]), (sizes[0], sizes[1]))

    def inputs(self, layer: Convolution) -> "_Window":
        """Return the window that these outputs of a layer see, which may exceed the image."""
        row, column = (first * layer.stride - layer.padding for first in self.start)
        height, width = ((n - 1) * layer.stride + layer.kernel for n in self.size)
        return _Window((row, column), (height, width))

    def shifted(self, distance: int) -> "_Window":
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


MLP = Network()
# `easee.agents.sb3.networks.CatcherCnn` and the layers that Stable-Baselines3 adds to it.
CATCHER = Network(
    tuple(Convolution(c, 3, 2, padding=1) for c in (16, 32, 32)), hidden=(128, 64, 64)
)
# The most literal reading of the paper's three convolutions: a stride of 1 and no padding.
CATCHER_LITERAL = Network(tuple(Convolution(c, 3, 1) for c in (16, 32, 32)), CATCHER.hidden)
# Mnih et al., "Human-level control through deep reinforcement learning", 2015.
NATURE = Network(
    (Convolution(32, 8, 4), Convolution(64, 4, 2), Convolution(64, 3, 1)), hidden=(512,)
)
# For the views of MiniGrid: 7 x 7 cells, then 3 x 3, then 1.
MINIGRID = Network((Convolution(16, 3, 2), Convolution(32, 3, 1)), hidden=(64,))

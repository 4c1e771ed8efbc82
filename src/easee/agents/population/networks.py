"""Networks as data and pure functions, initialised as in Stable-Baselines3.

Under `vmap`, the weights of many seeds are one batch.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from easee._utils.checks import checked_count
from easee.agents.population.convolutions import Convolution as Convolution
from easee.agents.population.convolutions import Params as Params
from easee.agents.population.convolutions import Shape, convolve
from easee.agents.population.windows import convolve_around_cells
from easee.errors import ArgumentError, ArgumentTypeError


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
        layers, values = self.convolutions, observations
        if self.pixels:
            values = convolve_around_cells(layers, params, values, self._activate, self.pixels)
        else:
            values = convolve(layers, params, values, self._activate)
        values = values.reshape(len(observations), -1)
        *dense, last = params[len(self.convolutions) :]
        for p in dense:
            values = self._activate(values @ p["w"] + p["b"])
        return values @ last["w"] + last["b"]

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

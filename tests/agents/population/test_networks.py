import dataclasses
from functools import partial

import jax
import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium import spaces

from easee import ArgumentError
from easee.agents.population import networks
from easee.agents.population.networks import Convolution, Network
from easee.agents.sb3.networks import CatcherCnn
from easee.agents.sb3.vec_env import VectorAdapter
from easee.envs.atari import Atari
from tests.agents.population.test_dqn import weights_of


@pytest.mark.slow
@pytest.mark.parametrize(
    "network, shape",
    [
        (networks.CATCHER, (30, 60, 1)),
        (networks.CATCHER, (21, 40, 2)),
        (networks.NATURE, (84, 84, 4)),
        (networks.NATURE, (87, 90, 3)),
        (Network((Convolution(5, 4, 2, padding=1), Convolution(6, 2, 2))), (9, 12, 2)),
    ],
)
def test_patches_times_matrix_equals_convolution(network, shape):
    params = network.init(jax.random.key(0), shape, 3)
    images = values = jax.random.uniform(jax.random.key(1), (4, *shape))
    for layer, p in zip(network.convolutions, params, strict=False):
        values = jax.lax.conv_general_dilated(
            values,
            p["w"],
            (layer.stride, layer.stride),
            [(layer.padding, layer.padding)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        values = jax.nn.relu(values + p["b"])
    values = values.reshape(4, -1)
    for p in params[len(network.convolutions) :]:
        values = values @ p["w"] + p["b"]
        if p is not params[-1]:
            values = jax.nn.relu(values)
    np.testing.assert_allclose(network.apply(params, images), values, atol=1e-5)


@pytest.mark.parametrize(
    "convolutions",
    [
        networks.CATCHER.convolutions,
        networks.CATCHER_LITERAL.convolutions,
        (Convolution(4, 4, 2, padding=1), Convolution(5, 2, 2)),
        (Convolution(4, 5, 3), Convolution(5, 2, 1, padding=1)),
    ],
)
@pytest.mark.parametrize("shape", [(30, 60, 1), (8, 16, 2)])
def test_convolutions_around_the_pixels_equal_convolutions_everywhere(convolutions, shape):
    sparse = Network(convolutions, pixels=2)
    everywhere = Network(convolutions)
    params = sparse.init(jax.random.key(0), shape, 2)
    last = (shape[0] - 1, shape[1] - 1)
    # In the corners, side by side, at the same place, and anywhere.
    places = [((0, 0), last), ((0, last[1]), (last[0], 0)), ((3, 4), (3, 5)), ((5, 5), (5, 5))]
    rng = np.random.default_rng(0)
    cells = np.concatenate([places, rng.integers(0, shape[:2], size=(20, 2, 2))])
    images = np.zeros((len(cells) + 1, *shape), np.float32)  # the last one is empty
    for image, pair in zip(images, cells, strict=False):
        for row, column in pair:
            image[row, column] = rng.uniform(0.1, 1.0, size=shape[2])

    def total(params, network):
        return (network.apply(params, images) ** 2).sum()

    np.testing.assert_allclose(
        sparse.apply(params, images), everywhere.apply(params, images), atol=1e-6
    )
    gradients = (jax.grad(total)(params, network) for network in (sparse, everywhere))
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-5), *gradients)


def test_invalid_pixels_are_rejected():
    with pytest.raises(ArgumentError, match="no layer norm for pixels=2"):
        Network((Convolution(4, 3, 1),), layer_norm=True, pixels=2)
    with pytest.raises(ArgumentError, match="pixels of at least 0.*pixels=-1"):
        Network((Convolution(4, 3, 1),), pixels=-1)
    with pytest.raises(ArgumentError, match="of 0 without convolutions.*pixels=1"):
        Network(pixels=1)


@pytest.mark.slow
def test_catcher_networks_see_the_last_row():
    # The paddle is in the last of 30 rows, which unpadded windows of 3 with stride 2 leave out.
    params = networks.CATCHER.init(jax.random.key(0), (30, 60, 1), 2)
    image = jax.random.uniform(jax.random.key(1), (30, 60, 1))
    gradient = jax.grad(lambda x: networks.CATCHER.apply(params, x[None]).sum())(image)
    assert (gradient != 0).mean() > 0.9
    assert (gradient[-1] != 0).any() and (gradient[:, -1] != 0).any()
    extractor = CatcherCnn(spaces.Box(0, 255, (1, 30, 60), np.uint8))
    pixels = torch.rand(1, 1, 30, 60, requires_grad=True)
    extractor(pixels).sum().backward()
    assert pixels.grad is not None and (pixels.grad[0, 0, -1] != 0).any()


def test_weights_are_initialised_as_in_pytorch():
    params = networks.NATURE.init(jax.random.key(0), (84, 84, 4), 6)
    convolution = torch.nn.Conv2d(4, 32, 8, 4)
    ours, theirs = np.asarray(params[0]["w"]), convolution.weight.detach().numpy()
    assert np.abs(ours).max() <= 256**-0.5 and ours.std() == pytest.approx(theirs.std(), rel=0.05)
    assert np.abs(np.asarray(params[0]["b"])).max() <= 256**-0.5


@pytest.mark.slow
def test_the_network_for_atari_is_that_of_stable_baselines3():
    env = VectorAdapter(Atari("boxing", threads=1))
    model = stable_baselines3.DQN("CnnPolicy", env, buffer_size=10, seed=0, device="cpu")
    params = weights_of(model, 3, size=(7, 7))
    shapes = [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64), (3136, 512), (512, 18)]
    assert [p["w"].shape for p in params] == shapes
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84)).astype(np.uint8)
    with torch.no_grad():
        theirs = model.q_net(torch.tensor(images)).numpy()
    ours = networks.NATURE.apply(params, images.transpose(0, 2, 3, 1) / np.float32(255))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_observations_of_the_wrong_shape_are_rejected():
    with pytest.raises(ArgumentError, match="too small for the convolutions"):
        networks.NATURE.init(jax.random.key(0), (20, 20, 4), 2)
    with pytest.raises(ArgumentError, match="height, width, channels"):
        networks.CATCHER.init(jax.random.key(0), (4,), 2)


@pytest.mark.parametrize("network", [networks.Network(hidden=(16, 8)), networks.MINIGRID])
def test_layer_norm_makes_hidden_layers_independent_of_their_scale(network):
    normed = dataclasses.replace(network, layer_norm=True)
    shape = (7, 7, 15) if network.convolutions else (5,)
    params = normed.init(jax.random.key(0), shape, 3)
    observations = jax.random.normal(jax.random.key(1), (4, *shape))
    # Scaled weights and biases of a layer are normalised away.
    scaled = [jax.tree.map(lambda p: 10.0 * p, params[0]), *params[1:]]
    np.testing.assert_allclose(
        normed.apply(params, observations), normed.apply(scaled, observations), rtol=1e-2, atol=1e-3
    )
    assert not np.allclose(
        network.apply(params, observations), network.apply(scaled, observations), atol=1e-2
    )

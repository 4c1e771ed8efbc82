"""The networks of the paper's experiments, for Stable-Baselines3."""

from itertools import pairwise

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class CatcherCnn(BaseFeaturesExtractor):
    """The paper's network for Catcher: three convolutions with kernels of size 3 and ReLU.

    The paper gives neither channels nor strides. Here they are 16, 32 and 32 channels with stride
    2, followed by a layer of 128 units. Padding is needed to see the paddle: of 30 rows, unpadded
    windows of size 3 with stride 2 leave out the last.

    Args:
        observation_space: space of images (channels, height, width).
        features_dim: number of units of the last layer.
    """

    def __init__(self, observation_space: spaces.Box, features_dim: int = 128) -> None:
        super().__init__(observation_space, features_dim)
        sizes = (observation_space.shape[0], 16, 32, 32)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Conv2d(inputs, outputs, kernel_size=3, stride=2, padding=1), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers, nn.Flatten())
        flat = self.convolutions(torch.zeros(1, *observation_space.shape)).shape[1]
        self.linear = nn.Sequential(nn.Linear(flat, features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the features (batch, features_dim) of images."""
        features: torch.Tensor = self.linear(self.convolutions(observations))
        return features

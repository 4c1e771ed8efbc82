"""The networks of the paper's experiments, for Stable-Baselines3."""

from __future__ import annotations

from gymnasium import spaces

from easee.errors import MissingExtraError

try:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3") from None


class CatcherCnn(BaseFeaturesExtractor):
    """Three convolutions with kernels of 3 and ReLU, as the paper says of Catcher.

    It names neither channels nor strides. Here they are 16, 32 and 32 channels with a stride of 2,
    and a layer of 128 units follows. Without padding nobody would see the paddle: of 30 rows,
    windows of 3 at a stride of 2 leave out the last.

    Args:
        observation_space: of images (channels, height, width).
        features_dim: units of the last layer.
    """

    def __init__(self, observation_space: spaces.Box, features_dim: int = 128) -> None:
        super().__init__(observation_space, features_dim)
        sizes = (observation_space.shape[0], 16, 32, 32)
        layers: list[nn.Module] = []
        for before, after in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Conv2d(before, after, kernel_size=3, stride=2, padding=1), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            example = torch.zeros(1, *observation_space.shape)
            found = self.convolutions(example).shape[1]
        self.linear = nn.Sequential(nn.Linear(found, features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the features (batch, features_dim) of images."""
        features: torch.Tensor = self.linear(self.convolutions(observations))
        return features

"""Experiments on an environment: verify relations, discover them."""

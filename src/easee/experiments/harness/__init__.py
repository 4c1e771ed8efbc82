"""Parts that all figures share: data, backends, storage, statistics and plots."""

from easee.experiments.harness.runner import run_missing

__all__ = ["run_missing"]

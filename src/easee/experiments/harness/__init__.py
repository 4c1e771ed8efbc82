"""What all figures share: runs as data, running them, storing rows, statistics and plots."""

from easee.experiments.harness.runner import run_missing

__all__ = ["run_missing"]

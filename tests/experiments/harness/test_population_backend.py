from types import SimpleNamespace

from easee.experiments.harness import population_backend


class Instant:
    """A population of 100 steps that takes no time."""

    settings = SimpleNamespace(rollout_steps=4)
    steps = 0

    @property
    def finished(self):
        return self.steps >= 100

    def advance(self, steps):
        self.steps += steps


def test_a_coarse_clock_does_not_stop_the_training(monkeypatch, tmp_path):
    monkeypatch.setattr(population_backend, "time", SimpleNamespace(monotonic=lambda: 7.0))
    population = Instant()
    curves = list(population_backend._advancing(population, tmp_path / "c.npz", None))
    assert population.finished and len(curves) == 4  # 4, 16, 64 and 256 steps

import logging

import pytest

from easee import PopulationTooLargeError
from easee.agents.population import Settings, base, networks
from easee.envs.jax import Catcher
from tests.agents.population.populations import small


@pytest.mark.slow
def test_too_many_seeds_are_rejected_with_the_number_that_fits(monkeypatch):
    monkeypatch.setattr(base, "device_memory", lambda: 200 * 2**20)
    settings = Settings(100, buffer_size=100_000)
    with pytest.raises(PopulationTooLargeError, match=r"1000 runs need .* GiB.*: \d+ fit") as error:
        small(1000, settings, Catcher(), networks.CATCHER)
    fit = int(str(error.value).split(": ")[1].split()[0])
    assert 1 < fit < 100
    assert len(small(fit, settings, Catcher(), networks.CATCHER)) == fit


def test_a_missing_gpu_is_reported_once(caplog):
    base.warn_if_cpu.cache_clear()
    with caplog.at_level(logging.WARNING, "easee"):
        small()
        small()
    assert len(caplog.records) == 1 and "no GPU" in caplog.records[0].message

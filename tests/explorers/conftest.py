import pytest

import easee
from easee import Explorer, TabuExplorer, UniformExplorer, ZetaExplorer, priors

PRIOR = priors.get("rotation-grid")
MAKERS = {
    "easee": lambda n_envs, seed: Explorer(easee.compile(PRIOR, 4), n_envs, seed),
    "uniform": lambda n_envs, seed: UniformExplorer(3, n_envs, seed),
    "zeta": lambda n_envs, seed: ZetaExplorer(3, n_envs, seed),
    "tabu": lambda n_envs, seed: TabuExplorer(PRIOR, n_envs, seed),
}


@pytest.fixture(params=MAKERS)
def make(request):
    """Return a function that makes an explorer with three actions."""
    return MAKERS[request.param]


@pytest.fixture(scope="session")
def usual():
    """Return a policy in which the last two actions have floors, of 0.15 and 0.05."""
    texts = ["go turn ~ turn go", "pickup ~ @ 0.05", "drop ~ @ 0.02", "pickup drop ~ @ 0.01"]
    return easee.compile(easee.Equivalences(["go", "turn", "pickup", "drop"], texts), 4)


@pytest.fixture(scope="session")
def policy():
    return easee.compile(priors.get("rotation-grid-complete"), 6)

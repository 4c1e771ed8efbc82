"""An attack whose cases succeed, fail, raise, crash or hang."""

import os
import time

from soak.attack import Attack, Finding

KINDS = ("succeeds", "fails", "raises", "crashes", "hangs")


def draw(rng):
    return {"kind": str(rng.choice(KINDS))}


def check(case):
    if case["kind"] == "fails":
        raise Finding("a promise is not kept")
    if case["kind"] == "raises":
        raise KeyError("unexpected")
    if case["kind"] == "crashes":
        os._exit(3)
    if case["kind"] == "hangs":
        time.sleep(60.0)
    return {"successes": 1}


ATTACK = Attack("faulty", "cases with every outcome", draw, check, seconds=0.5)

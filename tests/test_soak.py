import json
from itertools import islice

import pytest
from typer.testing import CliRunner

import easee
from easee import Equivalences
from soak import findings, presentations, run, solves, worker
from soak.attack import case_of, examine
from soak.attacks import ATTACKS
from soak.findings import FoundCase
from tests import faulty_attack

SEED = 0
CASES = {"environments": 2, "vector-envs": 2}  # of each attack; 4 by default


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - {"kills"}))  # a kill takes a minute
def test_every_attack_finds_nothing_in_a_moment(name):
    for number in range(CASES.get(name, 4)):
        case = case_of(ATTACKS[name], SEED, number)
        assert json.loads(json.dumps(case)) == case
        counts, finding = examine(ATTACKS[name], case)
        assert finding is None and counts


def find(attack, text):
    """Return the first finding with a text, as it is written by the campaign."""
    for number in range(50):
        case = case_of(attack, SEED, number)
        _, finding = examine(attack, case)
        if finding is not None and text in finding:
            return FoundCase(attack.name, SEED, number, finding, case)
    pytest.fail("the attack found nothing")


@pytest.mark.slow
def test_a_wrong_merge_is_found_and_its_file_replays(tmp_path, monkeypatch):
    unroll = easee.unroll

    def merge_wrongly(omega, depth, **options):
        return unroll(Equivalences(omega.actions, [omega, "a a ~ a"]), depth, **options)

    with monkeypatch.context() as planted:
        planted.setattr(easee, "unroll", merge_wrongly)
        found = find(presentations.ATTACK, "merges words that differ")
        path = findings.write(found, tmp_path)
        again = findings.read(path)
        assert again == found
        assert examine(presentations.ATTACK, again.case) == ({}, found.finding)
    assert run.replay_file(path) == 0  # in another process, without the fault


def test_a_missed_merge_is_found(monkeypatch):
    unroll = easee.unroll
    monkeypatch.setattr(
        easee, "unroll", lambda omega, depth, **_: unroll(Equivalences(omega.actions), depth)
    )
    assert find(presentations.ATTACK, "misses a short derivation")


def test_a_policy_that_is_not_optimal_is_found(monkeypatch):
    balance = easee.balance
    monkeypatch.setattr(
        easee, "balance", lambda graph, weights=None, **options: balance(graph, **options)
    )
    assert find(solves.ATTACK, "AssertionError")


@pytest.mark.slow
def test_cases_that_crash_or_hang_are_findings():
    outcomes = list(islice(worker.outcomes(faulty_attack.ATTACK, SEED, 0, 60.0), 12))
    assert [number for number, _, _ in outcomes] == list(range(12))
    expected = {
        "fails": "a promise is not kept",
        "raises": "KeyError in tests/faulty_attack.py",
        "crashes": "exit code 3",
        "hangs": "took more than",
    }
    kinds = [case_of(faulty_attack.ATTACK, SEED, number)["kind"] for number in range(12)]
    assert set(kinds) == set(faulty_attack.KINDS)
    for kind, (_, counts, finding) in zip(kinds, outcomes, strict=True):
        if kind == "succeeds":
            assert finding is None and counts == {"successes": 1}
        else:
            assert finding is not None and expected[kind] in finding


@pytest.mark.slow
def test_a_campaign_writes_its_findings_and_its_table(tmp_path, monkeypatch):
    monkeypatch.setitem(ATTACKS, "faulty", faulty_attack.ATTACK)
    out, table = tmp_path / "findings", tmp_path / "table.md"
    options = ["--minutes", "0.05", "--attack", "faulty", "--seed", str(SEED), "--out", str(out)]
    result = CliRunner().invoke(run.app, [*options, "--markdown", str(table)])
    assert result.exit_code == 1 and f"seed {SEED}" in result.output
    kinds = {findings.read(path).case["kind"] for path in out.glob("*.json")}
    assert kinds and "succeeds" not in kinds
    assert "| cases with every outcome | " in table.read_text()
    replayed = CliRunner().invoke(run.app, ["--replay", str(next(out.glob("*.json")))])
    assert replayed.exit_code == 1
    unknown = CliRunner().invoke(run.app, ["--attack", "faulti"])
    assert unknown.exit_code == 2 and "faulty" in unknown.output

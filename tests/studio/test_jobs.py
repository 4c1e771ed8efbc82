import threading
import time
from multiprocessing import Pipe

import pytest

import easee
from easee.studio import limits
from easee.studio.jobs import Jobs, TooManyJobsError
from easee.studio.workers import work

ROTATION = str(easee.priors.get("rotation-grid"))


@pytest.mark.slow
def test_a_job_has_a_result_that_a_second_page_finds_again(client):
    job = client.run("compile", text=ROTATION, depth=3)
    assert (job["state"], job["result"]["nodes"]) == ("done", 23)
    _, again = client.json(f"api/jobs/{job['id']}")
    assert again["result"] == job["result"]
    _, listed = client.json("api/jobs")
    assert listed["jobs"][0]["id"] == job["id"] and "result" not in listed["jobs"][0]


@pytest.mark.slow
def test_a_short_job_answers_at_once(client):
    content = {"kind": "growth", "arguments": {"text": ROTATION}, "wait": 60}
    client.run("growth", text=ROTATION)
    assert client.json("api/jobs", content)[1]["result"]["deepest"] == 14


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "eval"}, "unknown task 'eval'"),
        ({"kind": "compile", "arguments": {"text": ""}}, "compile takes text, depth"),
        ({"kind": "compile", "arguments": []}, "expected arguments as an object"),
    ],
)
def test_unknown_jobs_are_refused(client, content, message):
    status, answer = client.json("api/jobs", content)
    assert status == 400 and message in answer["error"]


def test_unknown_numbers_are_explained(client):
    status, answer = client.json("api/jobs/99999")
    assert status == 400 and "no computation 99999" in answer["error"]
    assert client.json("api/jobs/99999/stop", {})[0] == 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("failing/Raises-v0", "the motor is on fire"),
        ("failing/Exits-v0", "the process of this computation ended unexpectedly"),
        ("Nothing-v0", "no environment is registered"),
        ("CartPole-v1", "is not one of the environment's"),
    ],
)
def test_environments_that_fail_are_messages_and_the_studio_goes_on(client, env, message):
    job = client.run("verify", text=ROTATION, env=env)
    assert job["state"] == "failed" and message in job["message"]
    assert client.run("compile", text=ROTATION, depth=2)["state"] == "done"


@pytest.mark.slow
def test_discovery_reports_steps_and_returns_what_it_found_when_it_is_stopped(client):
    job = client.start("discover", env="easee/RotationGrid-v0", max_length=8, states=200)
    until = time.monotonic() + 60
    while not (job["done"] and job["expected"]) and time.monotonic() < until:
        time.sleep(0.05)
        _, job = client.json(f"api/jobs/{job['id']}")
    assert job["expected"] > job["done"] > 0
    client.json(f"api/jobs/{job['id']}/stop", {})
    ended = client.finish(job)
    assert ended["state"] == "done" and not ended["result"]["finished"]
    assert any("interrupted" in note for note in ended["result"]["notes"])


@pytest.mark.slow
def test_an_environment_that_hangs_is_ended(client, monkeypatch):
    monkeypatch.setattr("easee.studio.workers.GRACE", 0.2)
    job = client.start("verify", text=ROTATION, env="failing/Hangs-v0")
    time.sleep(0.5)
    client.json(f"api/jobs/{job['id']}/stop", {})
    assert client.finish(job, 20)["state"] == "stopped"


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_ended(client, monkeypatch):
    monkeypatch.setitem(limits.SECONDS, "compile", 0.0)
    job = client.run("compile", text=ROTATION, depth=14, confirmed=True)
    assert job["state"] == "failed" and "longer than 0 seconds" in job["message"]


class NoWorker:
    """In place of processes: a task that waits until it is stopped."""

    alive = True

    def __init__(self, modules):
        pass

    def run(self, kind, arguments, *, seconds, stop, report):
        stop.wait(10)
        return "{}"

    def close(self):
        self.alive = False


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.setattr("easee.studio.jobs.Worker", NoWorker)
    jobs = Jobs()
    yield jobs
    jobs.close()


def test_only_some_jobs_run_and_wait_at_the_same_time(jobs):
    started = [jobs.start("growth", {}) for _ in range(limits.MAX_JOBS)]
    with pytest.raises(TooManyJobsError, match="24 computations run or wait"):
        jobs.start("growth", {})
    jobs.stop(started[0].number)
    assert started[0].ended.wait(5)
    jobs.start("growth", {})


def test_waiting_jobs_can_be_stopped_and_short_ones_do_not_wait_for_long_ones(jobs):
    long = [jobs.start("discover", {}) for _ in range(limits.MAX_RUNNING + 1)]
    short = jobs.start("growth", {})
    until = time.monotonic() + 10
    while "waiting" not in {job.report.part.split()[0] for job in long}:
        assert time.monotonic() < until
        time.sleep(0.02)
    (waiting,) = (job for job in long if job.report.part.startswith("waiting"))
    assert short.report.part == "starting"
    jobs.stop(waiting.number)
    assert waiting.ended.wait(5) and waiting.state == "stopped"


def test_old_results_are_forgotten(jobs):
    for _ in range(limits.KEPT_JOBS + 10):
        job = jobs.start("growth", {})
        jobs.stop(job.number)
        assert job.ended.wait(5)
    assert len(jobs.all()) == limits.KEPT_JOBS + 1
    assert jobs.all()[0] is job


def ask(*messages, modules=()):
    """Return what a worker in a thread answers."""
    ours, theirs = Pipe()
    for message in messages:
        ours.send(message)
    thread = threading.Thread(target=work, args=(theirs, modules))
    thread.start()
    answers = [ours.recv() for message in messages if message != "stop"]
    ours.close()
    thread.join(10)
    assert not thread.is_alive()
    return answers


def test_workers_answer_with_results_and_errors():
    answers = ask(
        "stop",  # of an earlier task
        ("growth", {"text": ROTATION}),
        ("growth", {"text": "actions: a\nb ~"}),
        ("growth", {}),
    )
    assert [kind for kind, _ in answers] == ["result", "error", "error"]
    assert '"deepest": 14' in answers[0][1]
    assert "unknown action 'b'" in answers[1][1]
    assert "TypeError" in answers[2][1]


def test_a_package_that_cannot_be_imported_is_named():
    ((kind, message),) = ask(("growth", {"text": ROTATION}), modules=["no_such_package"])
    assert kind == "error" and "--import no_such_package" in message


def test_interrupted_tasks_stop_at_the_next_step():
    task = ("verify", {"text": ROTATION, "env": "easee/RotationGrid-v0", "states": 10})
    ours, theirs = Pipe()
    ours.send(task)
    ours.send("stop")
    thread = threading.Thread(target=work, args=(theirs, ()))
    thread.start()
    assert ours.recv() == ("interrupted", "")
    ours.close()
    thread.join(10)

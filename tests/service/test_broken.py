# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Broken jobs in Redis, a Redis that fails at any command, clocks that jump.

CJ2K_FAULTS=1 fails every command that a worker sends for a job, else one in STRIDE, others each day.
"""

import os
import select
import socket
import threading
import time

import pytest

import store
import worker
from conftest import packet_hashes

STRIDE = 12


def queue_raw(service, job_id, fields):
    """Puts a job into the queue as no program of ours would."""
    connection, key = service.queue.connection, f"rq:job:{job_id}"
    if isinstance(fields, dict):
        connection.hset(key, mapping=fields)
    elif fields is not None:
        connection.set(key, fields)
    connection.sadd(store.OPEN, job_id)
    connection.rpush(service.queue.key, job_id)


def like_a_job(job):
    return {"data": store.SERIALIZER.dumps(["worker.encode", None, [], {"job": job}]), "created_at": "2026-01-01T00:00:00Z",
            "status": "queued", "origin": store.QUEUE, "timeout": "-1"}


GOOD = like_a_job({"input": "short.mkv", "output": "broken.mxf"})
BROKEN = {
    "data-no-json": GOOD | {"data": b"\x80\x04nonsense"},
    "data-other-shape": GOOD | {"data": b'["worker.encode"]'},
    "job-null": like_a_job(None),
    "job-list": like_a_job([1, 2]),
    "job-types": like_a_job({"input": 5, "output": ["a"], "rate": {}, "options": "x"}),
    "job-no-input": like_a_job({"output": "a.mxf"}),
    "job-outside": like_a_job({"input": "../../etc/passwd", "output": "a.mxf"}),
    "meta-no-json": GOOD | {"meta": b"{"},
    "meta-list": GOOD | {"meta": b"[]"},
    "time-no-time": GOOD | {"created_at": "yesterday"},
    "timeout-no-number": GOOD | {"timeout": "soon"},
    "retries-no-number": GOOD | {"retries_left": "many"},
    "status-unknown": GOOD | {"status": b"\xff\xfe"},
    "data-missing": {"status": "queued"},
    "no-hash": "text",
    "deleted": None,
}


def test_broken_jobs_stop_no_worker(service):
    for job_id, fields in BROKEN.items():
        queue_raw(service, job_id, fields)
    good = service.submit("short.mkv", "good.mxf")
    running = service.start_worker(CJ2K_LEASE_SECONDS="1", CJ2K_RECOVER_SECONDS="0.2")
    service.wait(lambda: running.poll() is None and service.job(good).is_finished, "finished", seconds=20)
    service.wait(lambda: not service.queue.connection.scard(store.OPEN), "no job is open", seconds=20)
    assert running.poll() is None and len(service.queue) == 0
    assert service.outputs() == ["good.mxf", "good.mxf.json"] and service.totals()["done"] == 1
    for arguments in (["status"], ["wait"], ["retry", "all"], ["status", "meta-no-json"], ["retry", "no-hash"]):
        told = service.tool("submit.py", *arguments)
        assert "Traceback" not in told.stderr, (arguments, told.stderr)
    assert f"{good} finished" in service.tool("submit.py", "status").stdout


def test_a_job_deleted_while_it_runs(service):
    """The output is made, and nothing else suffers."""
    job_id = service.submit("clip0.mkv", "a.mxf")
    later = service.submit("short.mkv", "b.mxf")
    running = service.start_worker(CJ2K_FFMPEG=service.slow(), CJ2K_LEASE_SECONDS="1", CJ2K_RECOVER_SECONDS="0.2")
    service.wait_for_frames(job_id)
    service.queue.connection.delete(f"rq:job:{job_id}")
    service.wait_for(later, "finished")
    service.wait(lambda: not service.queue.connection.scard(store.OPEN), "no job is open", seconds=20)
    assert running.poll() is None and not service.encoders()
    assert "b.mxf" in service.outputs() and not any(name.endswith(".part") for name in service.outputs())
    for arguments in (["status"], ["wait"], ["retry", "all"]):
        assert "Traceback" not in service.tool("submit.py", *arguments).stderr
    assert service.submit("clip0.mkv", "a.mxf") == job_id
    service.wait_for(job_id, "finished")


class Breaker:
    """A socket between workers and Redis, which breaks the connection once, at the n-th command after arm(): before Redis gets
    it, or before the answer comes back."""

    def __init__(self, path, target):
        self.path, self.target, self.lock = path, target, threading.Lock()
        self.commands = self.at = self.broken = 0
        self.loses_answer = False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(20)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, at, loses_answer):
        with self.lock:
            self.commands, self.at, self.broken, self.loses_answer = 0, at, 0, loses_answer

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _breaks(self):
        with self.lock:
            self.commands += 1
            if self.commands != self.at:
                return False
            self.broken += 1
            return True

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(str(self.target))
                loses = False
                while True:
                    for ready in select.select([client, server], [], [])[0]:
                        data = ready.recv(1 << 20)
                        if not data or (ready is server and loses):
                            return
                        if ready is client and self._breaks():
                            if not self.loses_answer:
                                return
                            loses = True
                        (server if ready is client else client).sendall(data)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def one_job(service, breaker, at, loses_answer, expected):
    """A job whose worker loses Redis at the command `at`. Returns the number of commands."""
    service.queue.connection.flushall()
    for path in service.outputs():
        (service.output / path).unlink()
    job_id = service.submit("short.mkv", "a.mxf")
    breaker.arm(at, loses_answer)
    environment = {"CJ2K_REDIS": f"unix://{breaker.path}", "CJ2K_LEASE_SECONDS": "1", "CJ2K_RECOVER_SECONDS": "0.1"}
    running = service.start_worker(**environment)

    def finished():
        nonlocal running
        if running.poll() is not None:
            assert running.returncode == 1, service.log[-2000:]
            running = service.start_worker(**environment)
        job = service.job(job_id)
        return job and job.is_finished and not service.queue.connection.scard(store.OPEN)

    what = f"command {at}, {'answer lost' if loses_answer else 'not sent'}"
    service.wait(finished, what, seconds=40)
    running.kill()
    running.wait()
    service.workers.remove(running)
    totals = service.totals()
    assert (totals["done"], totals["frames"]) == (1, 8) and not {"failed", "skipped"} & totals.keys(), (what, totals)
    assert service.outputs() == ["a.mxf", "a.mxf.json"], what
    assert packet_hashes(service.ffmpeg, service.output / "a.mxf") == expected, what
    return breaker.commands, breaker.broken


def test_redis_fails_at_any_command(service, tmp_path):
    breaker = Breaker(service.folder / "breaker.sock", service.socket)
    try:
        service.start_worker()
        service.wait_for(service.submit("short.mkv", "first.mxf"), "finished")
        service.workers.pop().kill()
        expected = packet_hashes(service.ffmpeg, service.output / "first.mxf")
        commands, _ = one_job(service, breaker, 0, False, expected)
        stride = 1 if os.environ.get("CJ2K_FAULTS") else STRIDE
        first = int(time.time() // 86400) % stride + 1
        broken = 0
        for at in range(first, commands + 1, stride):
            for loses_answer in (False, True):
                broken += one_job(service, breaker, at, loses_answer, expected)[1]
        print(f"{commands} commands, {broken} failed, from {first} on each {stride}")
        assert broken > 0
    finally:
        breaker.close()


def test_clock_set_back(service, monkeypatch):
    """Leases and locks from before do not hold the queue up, and a worker that lives keeps its job."""
    lost, kept = service.submit("short.mkv", "a.mxf"), service.submit("short.mkv", "b.mxf")
    connection, started = service.queue.connection, service.queue.started_job_registry
    connection.delete(service.queue.key)
    now = time.time()
    connection.zadd(started.key, {lost: now + 15, kept: now + 15})
    connection.set(store.RECOVER, 1, px=3600 * 1000)  # as Redis has it once its clock is an hour behind

    def recover(later):
        monkeypatch.setattr(store.time, "time", lambda: now - 3600 + later)
        connection.zadd(started.key, {kept: now - 3600 + later + 15}, xx=True)
        store.recover(service.queue, 0.001, 15, 3)
        time.sleep(0.01)
        return service.queue.get_job_ids()

    assert recover(1) == [] and recover(14) == []
    assert recover(17) == [lost]
    assert connection.zscore(started.key, kept) is not None
    assert service.job(lost).meta.get("deaths") == 1


def test_clock_set_forward(service, monkeypatch):
    """All jobs in hand look lost, once: fewer times than a job may."""
    job_id = service.submit("short.mkv", "a.mxf")
    connection, now = service.queue.connection, time.time()
    connection.delete(service.queue.key)
    connection.zadd(service.queue.started_job_registry.key, {job_id: now + 15})
    monkeypatch.setattr(store.time, "time", lambda: now + 3600)
    assert store.recover(service.queue, 0.001, 15, 3) == [] and service.queue.get_job_ids() == [job_id]
    time.sleep(0.01)
    assert store.recover(service.queue, 0.001, 15, 3) == [] and service.queue.get_job_ids() == [job_id]
    assert service.totals() == {"worker_deaths": 1}


def test_a_worker_looks_after_the_queue_whatever_the_clock_says(service, monkeypatch):
    monkeypatch.setenv("CJ2K_RECOVER_SECONDS", "0.2")
    idle = worker.EncodeWorker(service.queue)
    idle.run_maintenance_tasks()
    assert not idle.should_run_maintenance_tasks
    monkeypatch.setattr(worker, "utcnow", lambda: pytest.fail("the wall clock is asked"))
    time.sleep(0.3)
    assert idle.should_run_maintenance_tasks

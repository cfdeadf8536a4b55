# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Four workers, fifty jobs, and a worker killed every three seconds."""

import collections
import itertools
import signal
import time

from conftest import packet_hashes, run_ffmpeg
from rq import Worker

JOBS, WORKERS, SECONDS_BETWEEN_KILLS = 50, 4, 3.0
MOST_KILLS = 20  # on a machine so slow that jobs would not end between two kills
RATES = ("3M", "6M")  # with five clips: ten unlike jobs, each of them five times


def test_killed_workers_lose_and_double_nothing(service):
    # Here the workers are at fault, not the jobs.
    environment = {"CJ2K_MOST_DEATHS": "100", "CJ2K_LEASE_SECONDS": "2"}
    jobs = {}
    for number, (clip, rate) in zip(range(JOBS), itertools.cycle(itertools.product(range(5), RATES))):
        jobs[service.submit(f"clip{clip}.mkv", f"{clip}/{number:02}.mxf", rate=rate)] = (clip, rate, f"{clip}/{number:02}.mxf")
    workers = [service.start_worker(**environment) for _ in range(WORKERS)]
    start = last_kill = time.monotonic()
    kills = collections.Counter()

    def step():
        """Kills a worker, one that is at work where there is one, and starts another in its place."""
        nonlocal last_kill
        if time.monotonic() - last_kill >= SECONDS_BETWEEN_KILLS and kills["all"] < MOST_KILLS:
            last_kill = time.monotonic()
            busy = busy_workers(service)
            victim = max(range(WORKERS), key=lambda n: (workers[n].pid in busy, -kills[n]))
            kills["at work"] += workers[victim].pid in busy
            kills[victim] += 1
            kills["all"] += 1
            workers[victim].kill()
            assert workers[victim].wait() == -signal.SIGKILL
            workers[victim] = service.start_worker(**environment)
        assert all(worker.poll() is None for worker in workers), "a worker ended by itself"
        ended = {job.decode() for job in service.queue.connection.zrange(service.queue.finished_job_registry.key, 0, -1)}
        return ended == jobs.keys()

    service.wait(step, "all jobs are finished", seconds=400)
    seconds = time.monotonic() - start
    service.wait(lambda: not service.queue.connection.scard(service.store.OPEN), "no job is open")
    # The last one may have started just now, and does not know signals yet.
    service.wait(lambda: {worker.pid for worker in workers} <= ready_workers(service), "all workers are ready")
    for worker in workers:
        worker.terminate()
    assert [worker.wait(60) for worker in workers] == [0] * WORKERS

    totals = service.totals()
    print(f"\n{JOBS} jobs, {WORKERS} workers, {seconds:.0f} s: {kills['all']} workers killed, {kills['at work']} of them at "
          f"work; {totals.get('worker_deaths', 0)} jobs taken from dead workers")
    assert kills["all"] >= 3 and kills["at work"] >= 1 and totals["worker_deaths"] >= 1
    assert not service.encoders(), "an ffmpeg has outlived its worker"
    names = sorted(name for _, _, name in jobs.values())
    assert service.outputs() == sorted(names + [f"{name}.json" for name in names]), "all outputs, and nothing else"
    assert totals["done"] == JOBS and totals["frames"] == 48 * JOBS, totals
    assert not {"failed", "retries", "skipped"} & totals.keys(), totals
    assert totals["bytes"] == sum((service.output / name).stat().st_size for name in names)

    expected = {}
    for clip, rate in itertools.product(range(5), RATES):
        direct = service.folder / "direct.mxf"
        run_ffmpeg(service.ffmpeg, "-i", service.input / f"clip{clip}.mkv", "-c:v", "j2k_cuda", "-b:v", rate, direct)
        expected[clip, rate] = packet_hashes(service.ffmpeg, direct)
    assert len(set(expected.values())) == len(expected), "the jobs are unlike"
    for clip, rate, name in jobs.values():
        assert packet_hashes(service.ffmpeg, service.output / name) == expected[clip, rate], name


def ready_workers(service):
    """The process numbers of the workers that wait for a job or have one."""
    return {int(worker.name.split(".")[-2]) for worker in Worker.all(queue=service.queue)
            if worker.get_state() in ("idle", "busy")}


def busy_workers(service):
    """The process numbers of the workers that have written a frame, by the names that the jobs have noted."""
    registry = service.queue.started_job_registry
    started = service.queue.connection.zrangebyscore(registry.key, time.time(), "+inf")
    metas = [job.meta for job in map(service.job, (name.decode() for name in started)) if job]
    return {int(meta["worker"].split(".")[-2]) for meta in metas if meta.get("worker") and meta.get("frame", 0) > 0}

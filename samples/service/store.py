# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The jobs in Redis: how they get in, how those of dead workers come back, and what is counted.

rq keeps a job's state in its own keys. Beside them stand, with the prefix cj2k:,

    open      set of the jobs that have neither finished nor failed. None of them may get lost.
    missing   hash: since when an open job is in no list of rq's
    totals    hash: the counters of metrics.py
    recover   lock: one worker at a time looks for lost jobs
"""

import hashlib
import os
import sys
import time
from typing import Any

import redis
import rq
from rq import Queue, Retry
from rq.job import Job as QueuedJob, JobStatus
from rq.scheduler import RQScheduler
from rq.serializers import JSONSerializer

from job import BadJob, Job
from settings import numbers

if not rq.VERSION.startswith("1.13."):
    sys.exit(f"samples/service is written for rq 1.13, which Debian 12 has; this is rq {rq.VERSION}")

QUEUE = "encode"
OPEN, MISSING, TOTALS, RECOVER = "cj2k:open", "cj2k:missing", "cj2k:totals", "cj2k:recover"
KEEP_SECONDS = 30 * 24 * 3600  # what is known of a job after its end
# In Redis there is only JSON: nothing that is read from there is code.
SERIALIZER = JSONSerializer


def connect() -> redis.Redis:
    return redis.Redis.from_url(os.environ.get("CJ2K_REDIS", "redis://localhost:6379/0"))


def open_queue(connection: redis.Redis) -> Queue:
    return Queue(QUEUE, connection=connection, serializer=SERIALIZER)


def fetch(queue: Queue, job_id: str) -> QueuedJob | None:
    """None where there is no job of that name, or something else that only looks like one."""
    try:
        queued = QueuedJob.fetch(job_id, connection=queue.connection, serializer=SERIALIZER)
        return queued if isinstance(queued.kwargs, dict) and isinstance(queued.meta, dict) else None
    except Exception as error:
        if is_no_job(error):
            return None
        raise


def is_no_job(error: Exception) -> bool:
    """Whether an error of rq's says that what it has read is no job."""
    is_of_reading = not isinstance(error, (redis.RedisError, OSError))
    return is_of_reading or str(error).startswith("WRONGTYPE")


def drop(queue: Queue, job_id: str) -> None:
    """Removes what is no job from all lists, or it would be looked at again and again."""
    with queue.connection.pipeline() as pipe:
        pipe.delete(QueuedJob.key_for(job_id))
        pipe.srem(OPEN, job_id)
        pipe.hdel(MISSING, job_id)
        for registry in (queue.started_job_registry, queue.scheduled_job_registry, queue.finished_job_registry,
                         queue.failed_job_registry):
            pipe.zrem(registry.key, job_id)
        pipe.execute()


def job_of(queued: QueuedJob) -> Job:
    return Job.parse(queued.kwargs.get("job"))


# --- in --------------------------------------------------------------------------------------------------------------


def job_id_of(output: str) -> str:
    """One output, one job: its name is made from the output's."""
    return hashlib.sha256(output.encode()).hexdigest()[:16]


def submit(queue: Queue, job: Job) -> tuple[QueuedJob, bool]:
    """The job in the queue, and whether it is new there. BadJob if another job is about to write its output."""
    connection, job_id = queue.connection, job_id_of(job.output)
    with connection.lock(f"cj2k:submit:{job_id}", timeout=30):
        known = fetch(queue, job_id)
        if known and connection.sismember(OPEN, job_id) and not _has_ended(queue, job_id, connection):
            if known.kwargs.get("job") == job.as_dict():
                return known, False
            raise BadJob(f"output \"{job.output}\" belongs to job {job_id}, which is not finished and has other settings")
        return _enqueue_new(queue, job, job_id), True


def _has_ended(queue: Queue, job_id: str, connection: Any) -> bool:
    return any(connection.zscore(registry.key, job_id) is not None
               for registry in (queue.finished_job_registry, queue.failed_job_registry))


def retry_failed(queue: Queue, job_id: str) -> QueuedJob:
    """Queues a job that was set aside once more, with all its retries."""
    failed = fetch(queue, job_id)
    if not failed or queue.connection.zscore(queue.failed_job_registry.key, job_id) is None:
        raise BadJob(f"{job_id} is not the name of a failed job")
    return submit(queue, job_of(failed))[0]


def _enqueue_new(queue: Queue, job: Job, job_id: str) -> QueuedJob:
    pauses = [int(pause) for pause in numbers("CJ2K_RETRY_SECONDS", "10,60,300", 1, 86400)]
    queued = queue.create_job("worker.encode", kwargs={"job": job.as_dict()}, job_id=job_id, timeout=-1,
                              result_ttl=KEEP_SECONDS, failure_ttl=KEEP_SECONDS, retry=Retry(len(pauses), pauses),
                              description=f"{job.input} -> {job.output}")
    with queue.connection.pipeline() as pipe:
        # What is left of an earlier job with this output, its time to live included.
        pipe.delete(queued.key, f"rq:results:{job_id}")
        for registry in (queue.finished_job_registry, queue.failed_job_registry):
            pipe.zrem(registry.key, job_id)
        pipe.sadd(OPEN, job_id)
        queue.enqueue_job(queued, pipeline=pipe)
        pipe.execute()
    return queued


# --- out -------------------------------------------------------------------------------------------------------------


def count(connection: redis.Redis, **amounts: int) -> None:
    with connection.pipeline() as pipe:
        for name, amount in amounts.items():
            pipe.hincrby(TOTALS, name, amount)
        pipe.execute()


def count_end(queued: QueuedJob, **amounts: int) -> None:
    """Counts the end of a job, once, however often a killed worker has its job repeated."""
    def transaction(pipe: Any) -> None:
        if pipe.hget(queued.key, "counted"):
            return
        pipe.multi()
        pipe.hset(queued.key, "counted", 1)
        for name, amount in amounts.items():
            pipe.hincrby(TOTALS, name, amount)

    queued.connection.transaction(transaction, queued.key)


def give_back(queue: Queue, queued: QueuedJob) -> None:
    """Puts a started job back to the front of the queue. This is no retry."""
    with queue.connection.pipeline() as pipe:
        pipe.zrem(queue.started_job_registry.key, queued.id)
        queue.enqueue_job(queued, pipeline=pipe, at_front=True)
        pipe.hincrby(TOTALS, "given_back", 1)
        pipe.execute()


# --- back ------------------------------------------------------------------------------------------------------------


def recover(queue: Queue, interval: float, grace: float, most_deaths: int) -> list[QueuedJob]:
    """Queues due retries, and the jobs that died with their workers. Returns those that were set aside instead.

    rq does the first in a process of its own, whose lock stays for minutes when it is killed. The second it leaves to
    registries that count a death as a failure, and a job that a worker has fetched but not begun is in none of them.
    Here every open job must be somewhere. At most one worker does this in `interval` seconds; should two do it, a job
    stands in the queue twice, and whoever comes second finds it done or being done.
    """
    span = int(1000 * interval)
    if not queue.connection.set(RECOVER, 1, nx=True, px=span):
        # Redis counts by the clock: set back, the lock would stay for as long.
        if queue.connection.pttl(RECOVER) <= span:
            return []
        queue.connection.set(RECOVER, 1, px=span)
    for job_id in queue.scheduled_job_registry.get_jobs_to_schedule():
        if not fetch(queue, job_id):
            drop(queue, job_id)
    scheduler = RQScheduler([queue], connection=queue.connection, serializer=SERIALIZER)
    scheduler.prepare_registries([queue.name])
    scheduler.enqueue_scheduled_jobs()

    set_aside = []
    for job_id, has_died in _lost_jobs(queue, grace):
        queued = fetch(queue, job_id)
        if queued and _bring_back(queue, queued, has_died, most_deaths):
            set_aside.append(queued)
        elif not queued:
            drop(queue, job_id)
    return set_aside


def _lost_jobs(queue: Queue, grace: float) -> list[tuple[str, bool]]:
    """The open jobs that are nowhere, and whether a worker had begun them."""
    with queue.connection.pipeline() as pipe:  # a transaction: one moment in time
        pipe.smembers(OPEN)
        pipe.lrange(queue.key, 0, -1)
        for registry in (queue.scheduled_job_registry, queue.finished_job_registry, queue.failed_job_registry):
            pipe.zrange(registry.key, 0, -1)
        pipe.zrange(queue.started_job_registry.key, 0, -1, withscores=True)
        pipe.hgetall(MISSING)
        open_jobs, queued, scheduled, finished, failed, started, missing = pipe.execute()
    now, waiting, ended = time.time(), {*queued, *scheduled}, {*finished, *failed} & open_jobs
    lease = dict(started)  # until when a job is its worker's, who renews it
    lost = []
    with queue.connection.pipeline() as pipe:
        # A worker renews its lease to `grace` from now. What ends far later is from before the clock was set back.
        in_hand = {job for job, until in lease.items() if now <= until <= now + 2 * grace}
        for job in missing.keys() & (waiting | ended | in_hand):
            pipe.hdel(MISSING, job)
        for job in open_jobs - waiting - ended:
            if job in in_hand:
                continue
            if job in lease and lease[job] < now:
                lost.append((job.decode(), True))
            elif job not in missing or float(missing[job]) > now:
                pipe.hset(MISSING, job, now)
            elif float(missing[job]) + grace < now:
                lost.append((job.decode(), job in lease))
        pipe.execute()
    for job in ended - waiting - lease.keys():
        _close(queue, job.decode())
    return lost


def _close(queue: Queue, job_id: str) -> None:
    """A job that has ended is no longer open, unless it has just been submitted anew."""
    def transaction(pipe: Any) -> None:
        has_ended = _has_ended(queue, job_id, pipe)
        pipe.multi()
        if has_ended:
            pipe.srem(OPEN, job_id)

    queue.connection.transaction(transaction, queue.finished_job_registry.key, queue.failed_job_registry.key)


def _bring_back(queue: Queue, queued: QueuedJob, has_died: bool, most_deaths: int) -> bool:
    """Queues a lost job again. True if it was set aside, for it has cost too many workers."""
    deaths = queued.meta["deaths"] = queued.meta.get("deaths", 0) + has_died
    poisoned = deaths > most_deaths
    with queue.connection.pipeline() as pipe:
        pipe.zrem(queue.started_job_registry.key, queued.id)
        pipe.hdel(MISSING, queued.id)
        pipe.hincrby(TOTALS, "worker_deaths", int(has_died))
        if poisoned:
            queued.meta["reason"] = f"{deaths} workers died with this job, {most_deaths} may"
            queued.set_status(JobStatus.FAILED, pipeline=pipe)
            queue.failed_job_registry.add(queued, KEEP_SECONDS, exc_string=queued.meta["reason"], pipeline=pipe)
            pipe.hset(queued.key, "meta", SERIALIZER.dumps(queued.meta))
            pipe.hincrby(TOTALS, "failed", 1)
        else:
            queue.enqueue_job(queued, pipeline=pipe, at_front=True)
        pipe.execute()
    return poisoned

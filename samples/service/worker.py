#!/usr/bin/python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""A worker: takes jobs from the queue, one at a time, until it is told to stop. README.md lists its environment.

SIGTERM or SIGINT: the job in hand may go on for CJ2K_STOP_SECONDS, then it goes back to the front of the queue; a second
signal gives it back at once. SIGKILL: its lease ends after CJ2K_LEASE_SECONDS, and another worker takes the job.
"""

import contextlib
import logging
import os
import secrets
import socket
import sys
import threading
import time
import traceback
from typing import Iterator

import redis
from rq import Queue, Worker
from rq.job import Job as QueuedJob
from rq.utils import utcnow
from rq.worker import StopRequested, WorkerStatus

import encode
import store
from job import BadJob
from settings import number

log = logging.getLogger("rq.worker")
REPORT_SECONDS = 0.5


class EncodeWorker(Worker):
    """rq's worker, without its work horse: ffmpeg is the process that may crash, and it is not this one.

    A job is data here, not a function to call: whatever it names, only encode.encode runs.
    """

    def __init__(self, queue: Queue):
        self.lease_seconds = int(number("CJ2K_LEASE_SECONDS", 15, 1, 3600))
        self.recover_seconds = number("CJ2K_RECOVER_SECONDS", 5, 0.1, 3600)
        self.next_recovery = 0.0  # of a clock that does not jump
        self.most_deaths = int(number("CJ2K_MOST_DEATHS", 3, 0, 1000))
        self.settings = encode.Settings.from_environment()
        self.stop = encode.StopRequest(number("CJ2K_STOP_SECONDS", 8, 0, 86400))
        # rq waits for a job for 15 s less than the worker's time to live: 2 s, and then looks after other things.
        super().__init__([queue], name=f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(3)}",
                         connection=queue.connection, serializer=store.SERIALIZER, default_worker_ttl=17)

    # --- rq's hooks -------------------------------------------------------------------------------------------------

    def request_stop(self, signum, frame) -> None:
        """Nothing is done here but to remember it: a signal may come at any point of the code."""
        self.stop.request()
        self._stop_requested = True

    def subscribe(self) -> None:
        """rq's commands from afar stop work horses. Here they would meet the worker itself."""

    def get_heartbeat_ttl(self, job: QueuedJob) -> float:
        return self.lease_seconds

    @property
    def should_run_maintenance_tasks(self) -> bool:
        return self._stop_requested or time.monotonic() >= self.next_recovery

    def run_maintenance_tasks(self) -> None:
        if self._stop_requested:
            raise StopRequested()
        for queued in store.recover(self.queues[0], self.recover_seconds, self.lease_seconds, self.most_deaths):
            log.error("%s is set aside: %s", queued.id, queued.meta["reason"])
            with contextlib.suppress(BadJob):
                encode.remove_parts(self.settings.output_folder / store.job_of(queued).output)
        self.next_recovery = time.monotonic() + self.recover_seconds

    def dequeue_job_and_maintain_ttl(self, timeout: int) -> tuple[QueuedJob, Queue]:
        """Drops what is no job: it would end one worker after the other."""
        while True:
            try:
                job, queue = super().dequeue_job_and_maintain_ttl(timeout)
                if store.fetch(queue, job.id):
                    return job, queue
                job_id = job.id
            except Exception as error:
                job_id = getattr(error, "job_id", None)  # which rq sets where it cannot read one
                if not job_id or not store.is_no_job(error):
                    raise
            log.error("%s is no job, and is dropped", job_id)
            store.drop(self.queues[0], job_id)

    def execute_job(self, job: QueuedJob, queue: Queue) -> None:
        if self._stop_requested:
            store.give_back(queue, job)
            return
        lease = self.connection.zscore(queue.started_job_registry.key, job.id)
        if lease and lease > time.time():
            log.info("%s is being done by another worker", job.id)
            return
        self.set_state(WorkerStatus.BUSY)
        self.prepare_job_execution(job)
        self.connection.persist(job.key)
        job.meta.update(attempt=job.meta.get("attempt", 0) + 1, worker=self.name, frame=0, fps=0, percent=0)
        job.save_meta()
        try:
            self._run(job, queue)
        finally:
            self.set_current_job_id(None)
            self.set_state(WorkerStatus.IDLE)

    # --- one job ----------------------------------------------------------------------------------------------------

    def _run(self, queued: QueuedJob, queue: Queue) -> None:
        last_report = 0.0

        def report(progress: encode.Progress) -> None:
            nonlocal last_report
            if time.monotonic() - last_report >= REPORT_SECONDS:
                last_report = time.monotonic()
                queued.meta.update(vars(progress))
                with contextlib.suppress(redis.RedisError):
                    queued.save_meta()

        try:
            with self._heartbeats(queued):
                done = encode.encode(store.job_of(queued), secrets.token_hex(6), self.settings, self.stop, report)
        except encode.Stopped:
            log.warning("%s goes back to the queue", queued.id)
            store.give_back(queue, queued)
        except encode.Superseded as error:
            log.warning("%s: %s", queued.id, error)
        except encode.TryAgain as error:
            self._fail(queued, queue, str(error))
        except (encode.Failed, BadJob) as error:
            self._fail(queued, queue, str(error), for_good=True)
        except Exception as error:  # a fault of ours: the job is set aside, the worker goes on
            traceback.print_exc()
            self._fail(queued, queue, f"{type(error).__name__}: {error}", for_good=True)
        else:
            self._finish(queued, queue, done)

    @contextlib.contextmanager
    def _heartbeats(self, queued: QueuedJob) -> Iterator[None]:
        """Renews the lease of the job from a thread, as long as the block runs."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(self.lease_seconds / 5):
                with contextlib.suppress(redis.RedisError):
                    self.maintain_heartbeats(queued)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _finish(self, queued: QueuedJob, queue: Queue, done: encode.Done) -> None:
        if done.skipped and queued.meta["attempt"] == 1:
            log.info("%s: the output is there already", queued.id)
            store.count_end(queued, skipped=1)
        else:
            store.count_end(queued, done=1, frames=done.frames, bytes=done.bytes, milliseconds=round(1000 * done.seconds))
        queued.meta.update(frame=done.frames, percent=100.0, bytes=done.bytes, seconds=done.seconds,
                           reason="; ".join(done.messages) or None)
        queued.meta["fps"] = round(done.frames / done.seconds, 2) if done.seconds else 0
        queued.save_meta()
        queued.ended_at = utcnow()
        queued._result = vars(done)  # rq sets it where it calls the function of a job
        self.handle_job_success(queued, queue, queue.started_job_registry)
        log.info("%s: %d frames, %d bytes in %.1f s", queued.id, done.frames, done.bytes, done.seconds)

    def _fail(self, queued: QueuedJob, queue: Queue, reason: str, for_good: bool = False) -> None:
        if for_good:
            queued.retries_left = 0
        retry = bool(queued.retries_left)
        log.error("%s %s: %s", queued.id, "will be tried again" if retry else "is set aside", reason)
        queued.meta["reason"] = reason
        queued.save_meta()
        queued.ended_at = utcnow()
        if retry:
            store.count(self.connection, retries=1)
        else:
            store.count_end(queued, failed=1)
        self.handle_job_failure(queued, queue, queue.started_job_registry, exc_string=reason)


def main() -> int:
    """Exit status 1: Redis cannot be reached; who starts workers starts this one anew."""
    try:
        worker = EncodeWorker(store.open_queue(store.connect()))
        worker.work(logging_level=os.environ.get("CJ2K_LOG_LEVEL", "INFO"))
    except redis.RedisError as error:
        print(f"worker.py: {error}", file=sys.stderr)
        return 1
    return 0 if worker.stop.requested else 1


if __name__ == "__main__":
    sys.exit(main())

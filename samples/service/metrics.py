#!/usr/bin/python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Serves the service's numbers in Prometheus format: http://HOST:PORT/metrics, PORT from CJ2K_METRICS_PORT (9464).

One process for all workers. The counters are kept in Redis, so they neither fall when a worker is killed nor count anything
twice; jobs in hand and their speed are read from there, too. While Redis cannot be reached, a scrape fails.
"""

import signal
import sys
import threading
import time
from typing import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from rq import Queue
from rq.job import Job as QueuedJob

import store
from settings import number

# Counter: its field in store.TOTALS, its divisor, and what it counts.
COUNTERS = {
    "cj2k_frames": ("frames", 1, "Frames in finished outputs"),
    "cj2k_output_bytes": ("bytes", 1, "Bytes of finished outputs"),
    "cj2k_encode_seconds": ("milliseconds", 1000, "Time that finished outputs took to encode"),
    "cj2k_retries": ("retries", 1, "Attempts that failed and will be repeated"),
    "cj2k_worker_deaths": ("worker_deaths", 1, "Attempts that ended with their worker"),
    "cj2k_given_back": ("given_back", 1, "Attempts that a stopping worker gave back"),
}


class ServiceCollector(Collector):
    """Reads everything anew for each scrape."""

    def __init__(self, queue: Queue):
        self._queue = queue

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        queue, now = self._queue, time.time()
        # Not the registries' own functions: rq tidies them up when it is asked for their length.
        with queue.connection.pipeline() as pipe:
            pipe.hgetall(store.TOTALS)
            pipe.llen(queue.key)
            pipe.zcard(queue.scheduled_job_registry.key)
            pipe.zcard(queue.failed_job_registry.key)
            pipe.zrangebyscore(queue.started_job_registry.key, now, "+inf")
            totals, queued, waiting, failed, running = pipe.execute()
        totals = {name.decode(): int(value) for name, value in totals.items()}

        for name, (field, divisor, text) in COUNTERS.items():
            yield CounterMetricFamily(name, text, totals.get(field, 0) / divisor)
        ends = CounterMetricFamily("cj2k_jobs", "Jobs that ended: encoded, found done already, set aside", labels=["outcome"])
        for outcome in ("done", "skipped", "failed"):
            ends.add_metric([outcome], totals.get(outcome, 0))
        yield ends
        states = GaugeMetricFamily("cj2k_queue_jobs", "Jobs in the queue, in hand, waiting for a retry, set aside",
                                   labels=["state"])
        for state, jobs in (("queued", queued), ("running", len(running)), ("waiting", waiting), ("failed", failed)):
            states.add_metric([state], jobs)
        yield states
        yield self._fps([job.decode() for job in running])

    def _fps(self, running: list[str]) -> GaugeMetricFamily:
        fps = GaugeMetricFamily("cj2k_fps", "Frames per second of the job in hand", labels=["worker"])
        for job in QueuedJob.fetch_many(running, connection=self._queue.connection, serializer=store.SERIALIZER):
            if job and job.meta.get("worker"):
                fps.add_metric([job.meta["worker"]], job.meta.get("fps", 0))
        return fps


def main() -> int:
    registry = CollectorRegistry()
    # Registered without a first scrape: Redis may start later.
    registry.register(ServiceCollector(store.open_queue(store.connect())))
    port = int(number("CJ2K_METRICS_PORT", 9464, 1, 65535))
    try:
        start_http_server(port, registry=registry)
    except OSError as error:
        sys.exit(f"metrics.py: port {port}: {error}")
    print(f"metrics.py: port {port}", file=sys.stderr, flush=True)
    over = threading.Event()
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: over.set())
    over.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

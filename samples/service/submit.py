#!/usr/bin/python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Puts jobs into the queue and tells how they are.

    submit.py add FILE...                  jobs from JSON files (one job or a list of jobs each; - is standard input)
    submit.py add --input I --output O [--profile P] [--rate R] [--option NAME=VALUE]...
    submit.py status [ID...]               a line for each job: name, state, percent, frames, fps, files, reason
    submit.py wait [ID...]                 until they have ended (default: all); exit status 1 if one has failed
    submit.py retry ID...                  failed jobs, once more (all: every one)

A job that is in the queue already is not added twice; one whose output is there already will end at once. The exit status
is 1 if a job is refused, with one line for each fault.
"""

import argparse
import json
import sys
import time
from typing import Any, Iterator

import redis
from rq import Queue

import store
from job import BadJob, Job


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return options.run(store.open_queue(store.connect()), options)
    except BadJob as error:
        for line in str(error).splitlines():
            print(f"submit.py: {line}", file=sys.stderr)
    except (OSError, redis.RedisError) as error:
        print(f"submit.py: {error}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="submit.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser("add")
    add.add_argument("files", nargs="*")
    for name in ("input", "output", "profile", "rate"):
        add.add_argument(f"--{name}")
    add.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    add.set_defaults(run=_add)
    for name, run, number in (("status", _status, "*"), ("wait", _wait, "*"), ("retry", _retry, "+")):
        command = commands.add_parser(name)
        command.add_argument("ids", nargs=number, metavar="ID")
        command.set_defaults(run=run)
    return parser


def _add(queue: Queue, options: argparse.Namespace) -> int:
    if bool(options.files) == bool(options.input or options.output):
        raise BadJob("add takes either files or --input and --output")
    # All are checked before the first is queued.
    jobs = [Job.parse(data) for data in (_read(options.files) if options.files else [_from_options(options)])]
    for job in jobs:
        queued, is_new = store.submit(queue, job)
        print(queued.id, "queued" if is_new else "is in the queue already")
    return 0


def _read(files: list[str]) -> Iterator[Any]:
    for name in files:
        try:
            with open(0 if name == "-" else name, encoding="utf-8") as file:
                data = json.load(file)
        except (ValueError, RecursionError) as error:
            raise BadJob(f"{name} is not JSON: {error}") from None
        yield from data if isinstance(data, list) else [data]


def _from_options(options: argparse.Namespace) -> dict[str, Any]:
    job: dict[str, Any] = {"input": options.input, "output": options.output, "options": {}}
    for name in ("profile", "rate"):
        if getattr(options, name) is not None:
            job[name] = getattr(options, name)
    for setting in options.option:
        name, equals, value = setting.partition("=")
        if not equals:
            raise BadJob(f"--option {setting} is not NAME=VALUE")
        try:
            job["options"][name] = json.loads(value)
        except ValueError:
            job["options"][name] = value
    return job


def _known(queue: Queue, ids: list[str]) -> list[str]:
    """The jobs named, or all: queued, in hand, waiting, set aside and done, in this order."""
    if ids:
        for job_id in ids:
            if not store.fetch(queue, job_id):
                raise BadJob(f"there is no job {job_id}")
        return ids
    lists = [queue.connection.lrange(queue.key, 0, -1)]
    for registry in (queue.started_job_registry, queue.scheduled_job_registry, queue.failed_job_registry,
                     queue.finished_job_registry):
        lists.append(queue.connection.zrange(registry.key, 0, -1))
    lists.insert(3, sorted(queue.connection.smembers(store.OPEN)))
    return list(dict.fromkeys(job.decode() for part in lists for job in part))


def _status(queue: Queue, options: argparse.Namespace) -> int:
    for job_id in _known(queue, options.ids):
        job = store.fetch(queue, job_id)
        if job:
            meta = job.meta
            print(f"{job_id} {job.get_status():<9} {meta.get('percent', 0):5.1f} % {meta.get('frame', 0):6} frames "
                  f"{meta.get('fps', 0):6.1f} fps  {job.description}"
                  + (f"  ({meta['reason']})" if meta.get("reason") else ""))
    return 0


def _wait(queue: Queue, options: argparse.Namespace) -> int:
    ids = _known(queue, options.ids)
    failed = 0
    for job_id in ids:
        while (job := store.fetch(queue, job_id)) and job.get_status() not in ("finished", "failed"):
            time.sleep(0.5)
        if job and job.get_status() == "failed":
            failed += 1
            print(f"submit.py: {job_id} {job.description}: {job.meta.get('reason')}", file=sys.stderr)
    print(f"{len(ids)} jobs have ended, {failed} failed")
    return 1 if failed else 0


def _retry(queue: Queue, options: argparse.Namespace) -> int:
    ids = options.ids
    if ids == ["all"]:
        ids = [job.decode() for job in queue.connection.zrange(queue.failed_job_registry.key, 0, -1)]
    refused = 0
    for job_id in ids:
        try:
            print(store.retry_failed(queue, job_id).id, "queued")
        except BadJob as error:
            refused = 1
            print(f"submit.py: {job_id}: {error}".replace("\n", "; "), file=sys.stderr)
    return refused


if __name__ == "__main__":
    sys.exit(main())

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Workers, the queue and the tools around them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import SERVICE, packet_hashes, run_ffmpeg

UNTIL_GONE = 'if [ -e "$(dirname "$0")/full" ]; then exec "$ffmpeg" "${@:1:$#-1}" /dev/full; fi; exec "$ffmpeg" "$@"'


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def same_as_direct(service, output, source, *options):
    direct = service.folder / "direct.mxf"
    run_ffmpeg(service.ffmpeg, "-i", service.input / source, "-c:v", "j2k_cuda", *options, "-c:a", "pcm_s24le", direct)
    return packet_hashes(service.ffmpeg, service.output / output) == packet_hashes(service.ffmpeg, direct)


def test_unreadable_inputs_are_set_aside_at_once(service):
    bad = [service.submit("text.mov", "text.mxf"), service.submit("none.mov", "none.mxf")]
    good = service.submit("short.mkv", "good.mxf")
    service.start_worker()
    service.wait_for(good, "finished")
    for job_id, reason in zip(bad, ("Invalid data", "No such file")):
        job = service.job(job_id)
        assert job.is_failed and job.meta["attempt"] == 1 and reason in job.meta["reason"]
    assert service.totals() == {"failed": 2, "done": 1, "frames": 8, "bytes": (service.output / "good.mxf").stat().st_size,
                                "milliseconds": service.totals()["milliseconds"]}
    assert service.outputs() == ["good.mxf", "good.mxf.json"]


def test_a_full_disk_is_tried_again_until_it_has_room(service):
    (service.folder / "full").touch()
    job_id = service.submit("short.mkv", "a.mxf")
    service.start_worker(CJ2K_FFMPEG=service.script("full_disk", UNTIL_GONE))
    service.wait(lambda: service.totals().get("retries"), "a retry")
    assert "No space left on device" in service.job(job_id).meta["reason"]
    (service.folder / "full").unlink()
    service.wait_for(job_id, "finished")
    assert service.job(job_id).meta["attempt"] == 1 + service.totals()["retries"]
    assert "failed" not in service.totals() and same_as_direct(service, "a.mxf", "short.mkv")


def test_retries_end_and_a_failed_job_can_be_retried(service):
    (service.folder / "full").touch()
    os.environ["CJ2K_RETRY_SECONDS"] = "1"
    job_id = service.submit("short.mkv", "a.mxf")
    service.start_worker(CJ2K_FFMPEG=service.script("full_disk", UNTIL_GONE))
    service.wait_for(job_id, "failed")
    assert service.job(job_id).meta["attempt"] == 2 and service.totals() == {"retries": 1, "failed": 1}
    assert "No space left on device" in service.tool("submit.py", "status").stdout
    assert service.tool("submit.py", "wait").returncode == 1
    (service.folder / "full").unlink()
    assert service.tool("submit.py", "retry", "all").stdout == f"{job_id} queued\n"
    service.wait_for(job_id, "finished")
    assert service.tool("submit.py", "wait").returncode == 0 and service.totals()["done"] == 1


def test_pauses_grow(service):
    """The pauses of CJ2K_RETRY_SECONDS, in their order."""
    os.environ["CJ2K_RETRY_SECONDS"] = "100,200"
    job_id = service.submit("short.mkv", "a.mxf")
    service.start_worker(CJ2K_FFMPEG=service.script("broken", "exit 228"))
    registry = service.queue.scheduled_job_registry
    for pause in (100, 200):
        due = service.wait(lambda: service.queue.connection.zscore(registry.key, job_id), "a pause")
        assert pause - 60 < due - time.time() <= pause
        service.queue.connection.zadd(registry.key, {job_id: 1})  # due now
        service.wait(lambda: service.queue.connection.zscore(registry.key, job_id) != 1, "the next attempt")
    service.wait_for(job_id, "failed")


def test_a_job_that_kills_its_workers_is_set_aside(service):
    poison = service.script("poison", 'case "$*" in *poison*) echo x > "${!#:5}"; kill -9 $PPID;; esac; exec "$ffmpeg" "$@"')
    job_id = service.submit("short.mkv", "poison.mxf")
    good = service.submit("short.mkv", "good.mxf")
    environment = {"CJ2K_FFMPEG": poison, "CJ2K_MOST_DEATHS": "1", "CJ2K_LEASE_SECONDS": "2"}
    worker = service.start_worker(**environment)

    def set_aside():
        nonlocal worker
        if worker.poll() is not None:
            assert worker.returncode == -signal.SIGKILL
            worker = service.start_worker(**environment)
        return service.job(job_id).is_failed

    service.wait(set_aside, "set aside")
    service.wait_for(good, "finished")
    assert service.job(job_id).meta["reason"] == "2 workers died with this job, 1 may"
    assert service.totals()["worker_deaths"] == 2 and service.totals()["failed"] == 1
    service.wait(lambda: service.outputs() == ["good.mxf", "good.mxf.json"], "no part file")


def test_a_killed_worker_takes_its_ffmpeg_along(service):
    job_id = service.submit("clip0.mkv", "a.mxf")
    worker = service.start_worker(CJ2K_FFMPEG=service.script("endless", 'exec "$ffmpeg" -re -stream_loop 99 "$@"'),
                                  CJ2K_LEASE_SECONDS="2")
    service.wait_for_frames(job_id)
    assert len(service.encoders()) == 1 and any(name.endswith(".part") for name in service.outputs())
    worker.kill()
    worker.wait()
    service.wait(lambda: not service.encoders(), "no ffmpeg", seconds=60)
    service.start_worker()
    service.wait_for(job_id, "finished")
    assert service.outputs() == ["a.mxf", "a.mxf.json"] and service.totals()["worker_deaths"] == 1
    assert service.job(job_id).meta["attempt"] == 2 and service.job(job_id).retries_left == 3


def test_a_job_lost_between_queue_and_worker_comes_back(service):
    """A worker that dies right after it has fetched a job leaves it in no list at all."""
    job_id = service.submit("short.mkv", "a.mxf")
    assert service.queue.connection.lpop(service.queue.key).decode() == job_id
    service.start_worker(CJ2K_LEASE_SECONDS="2")
    service.wait_for(job_id, "finished")
    assert "worker_deaths" not in service.totals()


def test_stop_gives_the_job_back(service):
    job_id = service.submit("clip0.mkv", "a.mxf")
    service.submit("short.mkv", "b.mxf")
    worker = service.start_worker(CJ2K_FFMPEG=service.script("endless", 'exec "$ffmpeg" -re -stream_loop 99 "$@"'),
                                  CJ2K_STOP_SECONDS="1")
    service.wait_for_frames(job_id)
    assert service.encoders()
    start = time.monotonic()
    worker.terminate()
    assert worker.wait(60) == 0
    print(f"stopped within {time.monotonic() - start:.1f} s")
    assert not service.encoders() and service.outputs() == []
    assert service.queue.get_job_ids()[0] == job_id, "it is at the front again"
    assert service.totals() == {"given_back": 1}
    service.start_worker()
    service.wait_for(job_id, "finished")
    assert service.job(job_id).retries_left == 3 and same_as_direct(service, "a.mxf", "clip0.mkv")


def test_stop_lets_a_short_job_end(service):
    job_id = service.submit("clip0.mkv", "a.mxf")
    waiting = service.submit("short.mkv", "b.mxf")
    worker = service.start_worker(CJ2K_FFMPEG=service.slow(), CJ2K_STOP_SECONDS="100")
    service.wait_for_frames(job_id)
    worker.terminate()
    assert worker.wait(60) == 0
    assert service.job(job_id).is_finished and service.job(waiting).is_queued
    assert service.outputs() == ["a.mxf", "a.mxf.json"] and same_as_direct(service, "a.mxf", "clip0.mkv")


def test_an_idle_worker_stops(service):
    worker = service.start_worker()
    service.wait(lambda: "Listening" in service.log, "a worker")
    worker.terminate()
    assert worker.wait(30) == 0


def test_a_worker_that_slept_has_lost_its_job(service):
    """Its lease ends, another worker makes the output, and it notices."""
    job_id = service.submit("clip0.mkv", "a.mxf")
    sleeper = service.start_worker(CJ2K_FFMPEG=service.slow(), CJ2K_LEASE_SECONDS="2")
    service.wait_for_frames(job_id)
    sleeper.send_signal(signal.SIGSTOP)
    service.start_worker()
    service.wait_for(job_id, "finished")
    inode = (service.output / "a.mxf").stat().st_ino
    sleeper.send_signal(signal.SIGCONT)
    service.wait(lambda: "another worker has taken the job over" in service.log, "it notices")
    assert (service.output / "a.mxf").stat().st_ino == inode and service.outputs() == ["a.mxf", "a.mxf.json"]
    assert service.totals()["done"] == 1 and service.totals()["frames"] == 48
    assert service.job(job_id).is_finished and same_as_direct(service, "a.mxf", "clip0.mkv")


def test_progress_only_grows(service):
    job_id = service.submit("clip0.mkv", "a.mxf")
    service.start_worker(CJ2K_FFMPEG=service.slow())
    seen = []

    def ended():
        meta = service.job(job_id).meta
        seen.append((meta.get("frame", 0), meta.get("percent", 0)))
        return service.job(job_id).is_finished

    service.wait(ended, "the end")
    meta = service.job(job_id).meta
    seen.append((meta["frame"], meta["percent"]))
    assert seen == sorted(seen) and seen[-1] == (48, 100)
    assert any(0 < percent < 100 for _, percent in seen), seen
    assert meta["bytes"] == (service.output / "a.mxf").stat().st_size and meta["fps"] > 0 and meta["worker"]


def test_the_queue_outlives_redis(service):
    """Redis is killed while jobs are in hand. The workers end or wait, and go on with the same jobs."""
    jobs = [service.submit(f"clip{number}.mkv", f"{number}.mxf") for number in range(4)]
    slow = service.slow()
    workers = [service.start_worker(CJ2K_FFMPEG=slow, CJ2K_LEASE_SECONDS="3") for _ in range(2)]
    service.wait_for_frames(jobs[0])
    service.server.kill()
    service.server.wait()
    time.sleep(1)
    service.start_server()
    service.wait(service._answers, "Redis answers")

    def finished():
        for number, worker in enumerate(workers):
            if worker.poll() is not None:
                assert worker.returncode == 1
                workers[number] = service.start_worker(CJ2K_FFMPEG=slow, CJ2K_LEASE_SECONDS="3")
        return all(service.job(job_id).is_finished for job_id in jobs)

    service.wait(finished, "all jobs are finished")
    assert service.outputs() == sorted(f"{n}.mxf{end}" for n in range(4) for end in ("", ".json"))
    assert service.totals()["done"] == 4 and service.totals()["frames"] == 4 * 48
    assert "failed" not in service.totals()


def test_jobs_are_not_done_twice(service):
    job_id = service.submit("short.mkv", "a.mxf")
    service.start_worker()
    service.wait_for(job_id, "finished")
    inode = (service.output / "a.mxf").stat().st_ino
    assert service.submit("short.mkv", "a.mxf") == job_id
    service.wait(lambda: service.totals().get("skipped"), "skipped")
    service.wait_for(job_id, "finished")
    assert service.queue.connection.ttl(service.job(job_id).key) > 0
    assert (service.output / "a.mxf").stat().st_ino == inode and service.totals()["done"] == 1
    service.submit("short.mkv", "a.mxf", rate="1M")
    service.wait(lambda: service.totals()["done"] == 2, "another rate is another job")
    assert (service.output / "a.mxf").stat().st_ino != inode


def test_nothing_from_the_queue_is_run_but_ffmpeg(service):
    """A job that names a function of its own is a job like any other."""
    proof = service.folder / "proof"
    queued = service.queue.create_job("os.mknod", args=[str(proof)], timeout=-1, job_id="evil")
    service.queue.enqueue_job(queued)
    good = service.submit("short.mkv", "a.mxf")
    service.start_worker()
    service.wait_for(good, "finished")
    assert not proof.exists() and service.job("evil").is_failed


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
        text = page.read().decode()
    return {(sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def test_metrics_add_up(service):
    port = free_port()
    with open(service.folder / "workers.log", "ab") as log:
        service.workers.append(subprocess.Popen([sys.executable, "-B", str(SERVICE / "metrics.py")], stderr=log,
                                                env=os.environ | {"CJ2K_METRICS_PORT": str(port)}))
    jobs = [service.submit("clip1.mkv", f"{number}.mxf") for number in range(3)]
    bad = service.submit("text.mov", "text.mxf")

    def first_scrape():
        try:
            return scrape(port)
        except OSError:
            return None

    before = service.wait(first_scrape, "a scrape")
    assert before["cj2k_queue_jobs", "queued"] == 4 and before["cj2k_frames_total",] == 0
    # Half the film's speed: both workers tell their fps every half second, and neither ends before both have.
    slow = service.script("half", 'exec "$ffmpeg" -readrate 0.5 "$@"')
    for _ in range(2):
        service.start_worker(CJ2K_FFMPEG=slow)
    during = service.wait(lambda: (now := scrape(port)) and sum(
        value > 0 for name, value in now.items() if name[0] == "cj2k_fps") == 2 and now, "two workers at work")
    assert during["cj2k_queue_jobs", "running"] == 2
    for job_id in jobs:
        service.wait_for(job_id, "finished")
    service.wait_for(bad, "failed")
    service.wait(lambda: scrape(port)["cj2k_queue_jobs", "running"] == 0, "the end")
    after = scrape(port)
    assert after["cj2k_frames_total",] == 3 * 48
    assert after["cj2k_output_bytes_total",] == sum((service.output / f"{n}.mxf").stat().st_size for n in range(3))
    assert after["cj2k_jobs_total", "done"] == 3 and after["cj2k_jobs_total", "failed"] == 1
    assert after["cj2k_queue_jobs", "queued"] == 0 and after["cj2k_queue_jobs", "failed"] == 1
    seconds = sum(json.loads((service.output / f"{n}.mxf.json").read_text())["seconds"] for n in range(3))
    assert abs(after["cj2k_encode_seconds_total",] - seconds) < 0.01
    assert after["cj2k_retries_total",] == after["cj2k_worker_deaths_total",] == 0


def test_submit_command_line(service):
    tool = service.tool
    added = tool("submit.py", "add", "--input", "short.mkv", "--output", "a.mxf", "--rate", "5M", "--option", "levels=3",
                 "--option", "audio=none")
    assert added.returncode == 0 and added.stdout.endswith(" queued\n"), added.stderr
    job_id = added.stdout.split()[0]
    job = {"input": "short.mkv", "output": "a.mxf", "rate": 5000000, "options": {"audio": "none", "levels": 3}}
    again = tool("submit.py", "add", "-", text=json.dumps(job))
    assert again.stdout == f"{job_id} is in the queue already\n"
    other = tool("submit.py", "add", "-", text=json.dumps(job | {"rate": "6M"}))
    assert other.returncode == 1 and "has other settings" in other.stderr
    file = service.folder / "jobs.json"
    file.write_text(json.dumps([{"input": "short.mkv", "output": f"{n}.mxf"} for n in "bc"]))
    assert tool("submit.py", "add", file).stdout.count("queued") == 2
    assert len(service.queue) == 3
    for arguments, says in ((["--input", "a", "--output", "b.avi"], "b.avi"), ([], "takes either"),
                            (["--input", "a", "--output", "b.mxf", "--rate", "x"], 'rate "x"'),
                            (["--input", "a", "--output", "b.mxf", "--option", "levels"], "NAME=VALUE"),
                            (["/none.json"], "/none.json")):
        refused = tool("submit.py", "add", *arguments)
        assert refused.returncode == 1 and says in refused.stderr and "Traceback" not in refused.stderr, refused.stderr
    assert len(service.queue) == 3
    # One bad job in a list: none is queued.
    file.write_text(json.dumps([{"input": "short.mkv", "output": "d.mxf"}, {"input": "short.mkv"}]))
    assert tool("submit.py", "add", file).returncode == 1 and len(service.queue) == 3
    assert tool("submit.py", "status", "nobody").stderr == "submit.py: there is no job nobody\n"
    assert tool("submit.py", "retry", job_id).returncode == 1
    service.start_worker()
    waited = tool("submit.py", "wait")
    assert waited.stdout == "3 jobs have ended, 0 failed\n", waited.stderr
    lines = tool("submit.py", "status").stdout.splitlines()
    assert len(lines) == 3 and all("finished" in line and "100.0 %" in line for line in lines)


@pytest.mark.parametrize("tool, name, value, says", [
    ("worker.py", "CJ2K_LEASE_SECONDS", "soon", "CJ2K_LEASE_SECONDS 'soon' is not a number from 1 to 3600"),
    ("worker.py", "CJ2K_THREADS", "-1", "CJ2K_THREADS '-1' is not a number from 0 to 256"),
    ("worker.py", "CJ2K_STOP_SECONDS", "1,2", "CJ2K_STOP_SECONDS '1,2' is not a number from 0 to 86400"),
    ("submit.py", "CJ2K_RETRY_SECONDS", "1,x", "CJ2K_RETRY_SECONDS '1,x' is not a list of numbers from 1 to 86400"),
    ("metrics.py", "CJ2K_METRICS_PORT", "70000", "CJ2K_METRICS_PORT '70000' is not a number from 1 to 65535"),
])
def test_bad_settings_are_one_line(service, tool, name, value, says):
    service.environment[name] = value
    result = service.tool(tool, *(["add", "--input", "a", "--output", "b.mxf"] if tool == "submit.py" else []))
    assert result.returncode == 1 and result.stderr == says + "\n"


def test_no_redis_is_one_line(service):
    service.server.terminate()
    service.server.wait()
    for tool, arguments in (("submit.py", ["status"]), ("worker.py", [])):
        result = service.tool(tool, *arguments)
        assert result.returncode == 1 and "Traceback" not in result.stderr, result.stderr
        assert len(result.stderr.splitlines()) == 1 and str(service.socket) in result.stderr

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""samples/cluster/encode.sh --local, and its steps one by one: what is right, what is refused, what is found."""

import os
import re
import shutil
import subprocess
import time

import pytest

from job import SCRIPTS

RATE = ("-b:v", "3M")
FILMS = {  # name, options of the film, options of the encode
    "open_gop.ts": (("-c:v", "mpeg2video", "-bf", 2, "-g", 9, "-b:v", "3M"), RATE),
    "long_gop.mkv": (("-c:v", "mpeg2video", "-bf", 2, "-g", 15), ("-q:v", 3, "-gop", 3, "-threads", 2)),
    "intra.mov": (("-c:v", "prores_ks", "-pix_fmt", "yuv422p10le"), (*RATE, "-stop", "psb")),
    "twelve_bits.mxf": (("-c:v", "j2k_cuda", "-pix_fmt", "gbrp12le", "-lossless", 1), ("-lossless", 1)),
    "scaled.mkv": (("-c:v", "ffv1", "-pix_fmt", "yuv422p10le"), (*RATE, "-vf", "scale=96:54,format=gbrp12le", "-cblk", "32x32")),
}
MPEG2 = ("-c:v", "mpeg2video", "-bf", 2, "-g", 9)


def streams(ff, path):
    """What the file says of its video, without the identifiers that each file has of its own."""
    stream = ff.probe(path, "-select_streams", "v", "-show_streams")["streams"][0]
    del stream["tags"]
    return stream


def with_serial_join(ff, folder):
    """An ffmpeg that joins the segments themselves, too, one after the other, into `folder`/serial.mxf. Both joins write no dates
    and numbers that differ from file to file."""
    return ff.wrapped(folder / "bin", f'''if [[ "$*" == *concat* ]]; then
  out=${{@: -1}}
  sed s/stubs/mxf/ "${{out%stubs}}list" >"${{out%stubs}}serial_list"
  set -- "${{@:1:$#-1}}" -fflags +bitexact
  "$real" "${{@/%\\/list//serial_list}}" {folder}/serial.mxf && exec "$real" "$@" "$out"
fi
exec "$real" "$@"''')


@pytest.mark.parametrize("name", FILMS)
def test_equals_one_encode(ff, job, tmp_path, name):
    """Also from sources whose frames lean on others, with state that spans frames inside the encoder (GOPs, threads). The file is
    the one of a join by one ffmpeg, byte by byte."""
    source, options = FILMS[name]
    ff.film(tmp_path / name, 41, *source, rate="30000/1001")
    task = job(name, *options)
    task.ff = with_serial_join(ff, tmp_path)
    log = task.run("--local", 2, "--segments", 7)
    assert "frames      41 at 30000/1001 fps, in 7 segments" in log
    assert task.output.read_bytes() == (tmp_path / "serial.mxf").read_bytes()
    task.ff = ff
    task.check()
    assert streams(ff, task.output) == streams(ff, tmp_path / "alone.mxf")


def test_images(ff, job, tmp_path):
    (tmp_path / "scan").mkdir()
    ff.film(tmp_path / "scan/a_%06d.dpx", 11, "-pix_fmt", "gbrp10le", "-start_number", 86397)
    task = job("scan/a_%06d.dpx", *RATE)
    log = task.run("--local", 2, "--segment-seconds", 0.2, "--rate", 25, "--verify")
    assert "frames      11 at 25 fps, in 3 segments" in log and "gives the same 11 packets" in log
    task.check("-framerate", 25, "-start_number", 86397)


def test_verify(ff, job, tmp_path):
    """--verify is an encode of its own: an ffmpeg whose segments are other ones is found out."""
    ff.film(tmp_path / "in.mkv", 12, *MPEG2)
    assert "one encode on this machine gives the same 12 packets" in job("in.mkv", *RATE, output="good.mxf").run(
        "--local", 2, "--segments", 3, "--verify")
    worse = ff.wrapped(tmp_path / "bin", 'if [[ "$*" == *trim=* ]]; then exec "$real" "${@/3M/1M}"; else exec "$real" "$@"; fi')
    task = job("in.mkv", *RATE)
    task.ff = worse
    assert re.search(r"\d+ packets differ between one encode and", task.run("--local", 2, "--segments", 3, "--verify", ok=False))


def test_sound_and_timecode(ff, job, tmp_path):
    """Two tracks of other depths, the second shorter than the picture; once, from the input."""
    ff("-f", "lavfi", "-i", "testsrc2=s=160x90:r=25", "-f", "lavfi", "-i", "sine=r=48000:d=2", "-f", "lavfi", "-i",
       "sine=f=300:r=48000:d=1.3", "-map", 0, "-map", 1, "-map", 2, "-c:v", "ffv1", "-frames:v", 50, "-c:a:0", "pcm_s16le", "-c:a:1",
       "pcm_s24le", "-timecode", "10:00:00:00", tmp_path / "in.mov")
    task = job("in.mov", *RATE)
    task.ff = with_serial_join(ff, tmp_path)
    task.run("--local", 2, "--segments", 4)
    assert task.output.read_bytes() == (tmp_path / "serial.mxf").read_bytes()
    task.ff = ff
    task.check()
    found = ff.probe(task.output, "-show_streams", "-show_format")
    assert [s["codec_name"] for s in found["streams"]] == ["jpeg2000", "pcm_s16le", "pcm_s24le"]
    assert found["format"]["tags"]["timecode"] == "10:00:00:00"
    for track in ("0:a:0", "0:a:1"):
        before, after = (ff.sound(path, track) for path in (tmp_path / "in.mov", task.output))
        assert len(after) == 2 * 48000 * 2 and after[:len(before)] == before and not after[len(before):].strip(b"\0")


@pytest.mark.parametrize("late", ["video", "audio"])
def test_sound_stays_in_time(ff, job, tmp_path, late):
    """Where one begins later than the other, the first sample of the result belongs to the first frame."""
    offset = {"video": (("-itsoffset", 0.5), ()), "audio": ((), ("-itsoffset", 0.5))}[late]
    ff(*offset[0], "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=2", *offset[1], "-f", "lavfi", "-i", "sine=r=48000:d=3", "-c:v", "ffv1",
       "-c:a", "pcm_s16le", tmp_path / "in.mkv")
    task = job("in.mkv", *RATE)
    task.run("--local", 2, "--segments", 2)
    task.check()
    source, result = ff.sound(tmp_path / "in.mkv"), ff.sound(task.output)
    begin = {s["codec_type"]: float(s["start_time"]) for s in ff.probe(tmp_path / "in.mkv", "-show_streams")["streams"]}
    shift = round((begin["video"] - begin["audio"]) * 48000) * 2
    assert abs(shift) > 40000 and (shift > 0) == (late == "video")
    expected = source[shift:] if shift > 0 else bytes(-shift) + source
    assert len(result) == 2 * 48000 * 2 and result == expected[:len(result)]


def test_goes_on(ff, job, tmp_path):
    """Segments that are done stay; one that is damaged, one of another job and one without proof are encoded again."""
    ff.film(tmp_path / "in.mkv", 30, *MPEG2)
    other = job("in.mkv", "-b:v", "2M", output="other.mxf")
    other.run("--local", 2, "--segments", 5, "--keep")
    task = job("in.mkv", *RATE)
    task.run("--plan", "--segments", 5)
    for index in range(5):
        task.segment(index)
    kept = {index: (task.segments / f"{index:06d}.mxf").stat().st_mtime_ns for index in (0, 4)}
    damage(task.segments / "000001.mxf")
    (task.segments / "000002.sums").unlink()
    for ending in ("mxf", "sums"):
        shutil.copy(other.segments / f"000003.{ending}", task.segments)
    log = task.run("--local", 2, "--segments", 5, "--keep")
    assert "segment 1 is damaged" in log and "segment 3 is damaged" in log and "2 segments are done and right" in log
    assert kept == {index: (task.segments / f"{index:06d}.mxf").stat().st_mtime_ns for index in kept}
    shutil.rmtree(task.segments)
    task.check()


def damage(path):
    """Another byte in the middle, as a disk or a network does it."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize("name, counts", [("whole.mov", False), ("whole.mxf", False), ("trimmed.mov", True)])
def test_containers_that_tell_the_number(ff, job, tmp_path, name, counts):
    """A film of an intra-frame codec is not read to be counted, unless its container tells another number than it has."""
    ff.film(tmp_path / "whole.mov", 24, "-c:v", "prores_ks", "-pix_fmt", "yuv422p10le")
    ff("-i", tmp_path / "whole.mov", "-c", "copy", tmp_path / "whole.mxf")
    ff("-ss", 0.3, "-i", tmp_path / "whole.mov", "-c", "copy", tmp_path / "trimmed.mov")  # with an edit list
    task = job(name, *RATE)
    log = task.run("--local", 2, "--segments", 3)
    assert ("counting the frames" in log) == counts
    assert ("frames      24 at 24 fps" in log) == (not counts)
    task.check()


def test_an_input_that_is_cut_off(ff, job, tmp_path):
    """Its container tells 24 frames; half of one is the last."""
    ff.film(tmp_path / "whole.mxf", 24, "-c:v", "prores_ks", "-pix_fmt", "yuv422p10le")
    data = (tmp_path / "whole.mxf").read_bytes()
    (tmp_path / "in.mxf").write_bytes(data[:len(data) // 2])
    log = job("in.mxf", *RATE).run("--local", 2, "--segments", 3, ok=False)
    assert "counting the frames" in log and "1 of 3 segments are missing: 2;" in log
    assert "cannot be decoded as its packets say" in log


@pytest.mark.parametrize("what", ["damaged", "cut off", "gone", "another", "no proof"])
def test_nothing_wrong_is_joined(ff, job, tmp_path, what):
    ff.film(tmp_path / "in.mkv", 12, *MPEG2)
    task = job("in.mkv", *RATE)
    task.run("--plan", "--segments", 3)
    for index in range(3):
        task.segment(index)
    victim = task.segments / "000001.mxf"
    if what == "damaged":
        damage(victim)
    elif what == "cut off":
        os.truncate(victim, victim.stat().st_size // 2)
    elif what == "gone":
        victim.unlink()
    elif what == "another":
        shutil.copy(task.segments / "000000.mxf", victim)
    else:
        (task.segments / "000001.sums").unlink()
    log = task.run("--join", "--segments", 3, ok=False)
    assert "segments 1 have changed since they were done" in log or what == "no proof" and "1 of 3 segments are missing: 1;" in log
    assert not list(tmp_path.glob("*.part"))
    task.segment(1)
    task.run("--join", "--segments", 3)
    task.check()


def test_damage_between_encode_and_place(ff, job, tmp_path):
    """Segments of this run are not read before they are placed, which finds it out all the same."""
    ff.film(tmp_path / "in.mkv", 12, *MPEG2)
    bad = ff.wrapped(tmp_path / "bin", '''if [[ "$*" == *concat* && ! -e healed ]]; then
  touch healed
  out=${@: -1}
  printf X | dd of="${out%stubs}000001.mxf" bs=1 seek=30000 conv=notrunc status=none
fi
exec "$real" "$@"''')
    task = job("in.mkv", *RATE)
    task.ff = bad
    log = task.run("--local", 2, "--segments", 3, ok=False)
    assert "segments 1 have changed since they were done" in log
    assert not list(tmp_path.glob("*.part"))
    task.run("--local", 2, "--segments", 3)
    task.ff = ff
    task.check()


def test_an_output_that_appears(ff, job, tmp_path):
    """Another's file is not overwritten, and with it out of the way the same command ends."""
    ff.film(tmp_path / "in.mkv", 2, *MPEG2)
    task = job("in.mkv", *RATE)
    task.ff = ff.wrapped(tmp_path / "bin", f'[[ "$*" != *concat* ]] || echo another >{task.output}; exec "$real" "$@"')
    assert f"there is {task.output} now" in task.run("--local", 2, "--segments", 2, ok=None)
    assert task.output.read_text() == "another\n"
    task.output.unlink()
    task.run("--local", 2, "--segments", 2)
    task.ff = ff
    task.check()


def test_placing_goes_on(ff, job, tmp_path):
    """What is placed stays; without the output, or the glue, all is placed again."""
    ff.film(tmp_path / "in.mkv", 12, *MPEG2)
    task = job("in.mkv", *RATE)
    task.run("--plan", "--segments", 3)
    for index in range(3):
        task.segment(index)
    assert "next        place segments 0-2" in task.run("--plan", "--segments", 3)
    task.segment(1)
    assert "next        place segments 0,2" in task.run("--plan", "--segments", 3)
    assert "done already" in task.segment(1)
    damage(task.segments / "000002.mxf")
    assert "has changed since it was done" in task.segment(2, ok=False)
    assert "segments 2 have changed since they were done" in task.run("--plan", "--segments", 3, ok=False)
    assert "next        encode segments 2" in task.run("--plan", "--segments", 3)
    task.segment(2)
    assert "next        place segments 0-2" in task.run("--plan", "--segments", 3)
    (part,) = tmp_path.glob("*.part")
    part.unlink()
    task.segment(0, ok=False)
    assert "next        place segments 0-2" in task.run("--plan", "--segments", 3)
    glue = task.segments / "glue"
    glue.unlink()
    assert "next        place segments 0-2" in task.run("--plan", "--segments", 3) and glue.exists()
    damage(glue)
    assert "glue is damaged" in "".join(task.segment(index, ok=None) for index in range(3))
    task.run("--join", "--segments", 3)
    task.check()


def three_shots(ff, path, frames=36):
    """A test picture, black and noise."""
    ff("-f", "lavfi", "-i", f"testsrc2=s=160x90:r=24:d={frames / 72}", "-f", "lavfi", "-i", f"color=s=160x90:r=24:d={frames / 72}",
       "-f", "lavfi", "-i", f"testsrc2=s=160x90:r=24:d={frames / 72},noise=alls=60:allf=t", "-lavfi", "[0][1][2]concat=n=3", "-c:v", "ffv1",
       path)


@pytest.mark.parametrize("options", [(), ("-maxrate", "2M", "-minrate", "0.4M", "-coder", "ht")], ids=["default", "bounds"])
def test_film(ff, job, tmp_path, options):
    """One budget for all frames: the packets are those of both passes on one machine."""
    three_shots(ff, tmp_path / "in.mkv")
    task = job("in.mkv", *options)
    log = task.run("--local", 2, "--segments", 5, "--film-rate", "1.5M", "--verify")
    total = 1500000 * 36 // (8 * 24)
    assert f"budget      {total} of {total} bytes, each frame at most {min(2 * 1500000, 2000000 if options else 1e9) // 192:.0f}" in log
    assert "one encode on this machine gives the same 36 packets" in log
    task.options += ["-b:v", "1.5M"]
    for number, output in ((1, ("-f", "null", "-")), (2, (tmp_path / "alone.mxf",))):
        ff("-i", tmp_path / "in.mkv", "-c:v", "j2k_cuda", *task.options, "-pass", number, "-passlogfile", tmp_path / "film", *output)
    packets = ff.packets(task.output)
    assert packets == ff.packets(tmp_path / "alone.mxf")
    sizes = [int(size) for size, _ in packets]
    assert sum(sizes) <= total and max(sizes[24:]) > 1.5 * max(sizes[12:24])


def test_film_goes_on(ff, job, tmp_path):
    """A log of pass 1 that is damaged is made again; a budget that cannot be is refused."""
    three_shots(ff, tmp_path / "in.mkv")
    task = job("in.mkv")
    flags = ("--segments", 4, "--film-rate", "1.5M")
    assert "next        analyse segments 0-3" in task.run("--plan", *flags)
    for index in range(4):
        task.segment(index)
    damage(task.segments / "000002-1.log")
    assert "next        analyse segments 2" in task.run("--plan", *flags)
    task.segment(2)
    assert "next        encode segments 0-3" in task.run("--plan", *flags)
    damage(task.segments / "000001-0.log")
    assert "damaged" in task.segment(1, ok=False)
    assert re.search("segment 1: .*damaged", task.run("--local", 2, *flags, ok=False))
    task.run("--local", 2, *flags, "--keep")
    task.output.unlink()
    assert "another job (film_rate=1500000)" in task.run("--local", 1, "--segments", 4, "--film-rate", "1M", ok=False)
    low = job("in.mkv", "-minrate", "1M", output="low.mxf").run("--local", 2, "--segments", 2, "--film-rate", "900k", ok=False)
    assert "are too few: they need" in low or "min_frame_bytes" in low


def test_another_job(ff, job, tmp_path):
    ff.film(tmp_path / "in.mkv", 12, *MPEG2)
    task = job("in.mkv", *RATE)
    task.run("--plan", "--segments", 3)
    assert "other encoder options" in job("in.mkv", "-b:v", "2M").run("--local", 1, "--segments", 3, ok=False)
    assert "another job (cut=3 segments)" in task.run("--local", 1, "--segments", 4, ok=False)
    shutil.copy(tmp_path / "in.mkv", tmp_path / "copy.mkv")
    assert "another job (input=" in job("copy.mkv", *RATE).run("--local", 1, "--segments", 3, ok=False)
    task.ff = ff.wrapped(tmp_path / "bin", 'exec "$real" "$@"')
    assert "another program than the one that made the plan" in task.segment(0, ok=False)
    task.ff = ff
    ff.film(tmp_path / "in.mkv", 13, *MPEG2)
    assert "in.mkv is another file than in the plan" in task.segment(0, ok=False)
    assert "in.mkv has changed since" in task.run("--local", 1, "--segments", 3, ok=False)
    (tmp_path / "out.mxf").write_text("a film")
    result = subprocess.run(task.command("--local", "1"), cwd=tmp_path, capture_output=True, text=True, check=False,
                            env=os.environ | {"CJ2K_FFMPEG": str(ff.program)})
    assert result.returncode == 1 and "out.mxf already" in result.stderr and (tmp_path / "out.mxf").read_text() == "a film"


def test_images_change(ff, job, tmp_path):
    (tmp_path / "scan").mkdir()
    ff.film(tmp_path / "scan/%04d.dpx", 6, "-pix_fmt", "gbrp10le")
    task = job("scan/%04d.dpx", *RATE)
    task.run("--plan", "--segments", 3)
    task.segment(0)
    os.utime(tmp_path / "scan/0003.dpx")
    assert "are other ones than in the plan" in task.segment(1, ok=False)
    (tmp_path / "scan/0003.dpx").unlink()
    assert "images of" in task.segment(1, ok=False)
    gap = job("scan/%04d.dpx", *RATE, output="gap.mxf")
    assert "5 images are named like" in gap.run("--local", 1, "--segments", 2, ok=False)


def test_variable_rate(ff, job, tmp_path):
    ff.film(tmp_path / "in.mkv", 30, "-c:v", "ffv1", "-vf", "setpts='if(gt(N,20),N+3,N)/24/TB'", "-fps_mode", "vfr")
    log = job("in.mkv", *RATE).run("--local", 1, ok=False)
    assert "has a variable frame rate (frame 21 is at 1.000 s, not at 0.875 s)" in log and "-fps_mode cfr" in log
    ff.film(tmp_path / "raw.m2v", 12, *MPEG2, "-f", "rawvideo")
    assert "does not tell the times of its frames" in job("raw.m2v", *RATE).run("--local", 1, ok=False)


def test_a_seek_that_misses(ff, job, tmp_path):
    """A container whose index is wrong: the segment has too few frames, and the file is read from its beginning."""
    ff.film(tmp_path / "in.mkv", 60, "-c:v", "ffv1")
    late = ff.wrapped(tmp_path / "bin", '''args=("$@")
for ((i = 0; i < $#; ++i)); do [[ ${args[i]} != -ss ]] || args[i + 1]=2; done
exec "$real" "${args[@]}"''')
    task = job("in.mkv", *RATE)
    task.ff = late
    task.run("--plan", "--segments", 4)
    said = [task.segment(index) for index in range(4)]
    assert ["from its beginning" in text for text in said] == [False, False, True, True]
    assert "12 of 15 frames after a seek to" in said[3]
    task.run("--join", "--segments", 4)
    task.ff = ff
    task.check()


def test_killed_and_run_again(ff, job, tmp_path):
    """SIGKILL to encode.sh and its tasks in mid-segment; nothing half-done is taken."""
    ff.film(tmp_path / "in.mkv", 48, "-c:v", "ffv1")
    slow = ff.wrapped(tmp_path / "bin", 'if [[ "$*" == *-progress* ]]; then exec "$real" -re "$@"; else exec "$real" "$@"; fi')
    task = job("in.mkv", *RATE)
    task.ff = slow
    task.start("--local", 2, "--segments", 4)
    task.wait_for(lambda: list(task.segments.glob("??????.sums")) and list(task.segments.glob("*.part")), "a segment and another one begun")
    task.kill()
    done = {path: path.stat().st_mtime_ns for path in task.segments.glob("??????.sums")}
    assert list(task.segments.glob("*.part"))
    log = task.run("--local", 2, "--segments", 4, "--keep")
    assert f"{len(done)} segments are done and right" in log
    assert all(path.stat().st_mtime_ns == before for path, before in done.items())
    assert not list(task.segments.glob("*.part*"))
    shutil.rmtree(task.segments)
    task.ff = ff
    task.check()


def test_ended_and_run_again(ff, job, tmp_path):
    """SIGTERM to encode.sh ends its tasks, which leave nothing half-done."""
    ff.film(tmp_path / "in.mkv", 96, "-c:v", "ffv1")
    task = job("in.mkv", *RATE)
    task.ff = ff.wrapped(tmp_path / "bin", 'if [[ "$*" == *-progress* ]]; then exec "$real" -re "$@"; else exec "$real" "$@"; fi')
    task.start("--local", 2, "--segments", 4)
    task.wait_for(lambda: list(task.segments.glob("*.part")), "a segment")
    task.process.terminate()
    log = task.finish(ok=None)
    assert task.process.returncode != 0 and "the same command goes on from here" in log
    begin = time.monotonic()
    while subprocess.run(["flock", "-n", task.segments / "lock", "true"], check=False).returncode:
        assert time.monotonic() < begin + 20, "the tasks go on"
        time.sleep(0.1)
    assert not list(task.segments.glob("*.part*")) and len(list(task.segments.glob("??????.sums"))) < 4
    task.run("--local", 2, "--segments", 4)
    task.ff = ff
    task.check()


def test_one_at_a_time(ff, job, tmp_path):
    """A second encode.sh with the same output is refused; two tasks of one segment are not."""
    ff.film(tmp_path / "in.mkv", 24, "-c:v", "ffv1")
    slow = ff.wrapped(tmp_path / "bin", 'if [[ "$*" == *-progress* ]]; then exec "$real" -re "$@"; else exec "$real" "$@"; fi')
    task = job("in.mkv", *RATE)
    task.ff = slow
    task.start("--local", 2, "--segments", 2)
    task.wait_for(lambda: list(task.segments.glob("*.part")), "a segment")
    assert "another encode.sh, or one of its tasks" in task.run("--local", 1, "--segments", 2, ok=False)
    task.finish()
    task.ff = ff
    task.check()


def test_failures_are_named(ff, job, tmp_path):
    ff.film(tmp_path / "in.mkv", 6, *MPEG2)
    log = job("in.mkv", "-cblk", "5x5").run("--local", 2, "--segments", 2, ok=False)
    assert "2 of 2 segments are missing: 0-1;" in log and re.search(r"segment 0: .*ffmpeg failed: .*cblk 5x5: each side", log)
    task = job("in.mkv", *RATE, output="another.mxf")
    assert "there is no plan" in task.segment(0, ok=False)
    log = task.run("--plan", "--segments", 2, "--requeue-limit", 0) and task.segment(0, ok=False, SLURM_RESTART_COUNT="4")
    assert "given up: started again 3 times (--requeue-limit 3)" in log
    assert "has no segment 7, but 0 to 1" in task.segment(7, ok=False)
    (tmp_path / "tools").mkdir()
    python = tmp_path / "tools/python3"
    for name, said in (("KILL", "mxf.py was ended by signal 9"), ("BUS", "mxf.py failed: exit status 135")):
        python.write_text(f"#!/bin/bash\nkill -{name} $$\n")
        python.chmod(0o755)
        assert said in task.segment(0, ok=False, PATH=f"{python.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("options, message", [
    (("-stop", "pst"), "stop=pst looks back"), (("-cj2k-params", "stop=pst:levels=3"), "stop=pst looks back"),
    (("-stats_file", "a.json"), "-stats_file writes one file"), (("-ss", "1"), "-ss is set by encode.sh"),
    (("-frames:v", "3"), "-frames:v is set by"), (("-vf", "scale=64:48,yadif"), "the filter yadif"),
    (("-vf", "fps=25"), "the filter fps"), (("-filter:v:0", "yadif"), "the filter yadif"), (("-stop:v", "pst"), "stop=pst looks back"),
    (("-b:v", "3M", "-maxrate", "4M"), "-maxrate above -b:v shares bytes"), (("-b:v", "1e6", "-maxrate", "4M"), "1e6 is no rate"),
    (("-c:v", "libopenjpeg"), "-c:v is set by")])
def test_options_that_cannot_be(ff, job, tmp_path, options, message):
    ff.film(tmp_path / "in.mkv", 2, *MPEG2)
    assert message in job("in.mkv", *options).run("--local", 1, ok=False)


def test_usage(ff, job, tmp_path):
    ff.film(tmp_path / "in.mkv", 2, *MPEG2)
    task = job("in.mkv", *RATE)
    for script in ("encode", "segment"):
        shown = subprocess.run([SCRIPTS / f"{script}.sh", "--help"], capture_output=True, text=True, check=True).stdout
        assert f"samples/cluster/{script}.sh" in shown and "set -euo" not in shown
    for flags, message in [(("--segments", 3), "has only 2 frames"), (("--segments", 0), "--segments 0 is not a whole number"),
                           (("--segment-seconds", "x"), "--segment-seconds x is not"), (("--rate", 25), "--rate is for images"),
                           (("--gpus", 1), "not for --local"), (("--film-rate", "fast"), "--film-rate fast is no rate"),
                           (("--film-rate", "3M"), "-b:v is set by --film-rate"), (("--what",), "usage")]:
        log = task.run("--local", 1, *flags, ok=False)
        assert message in log or message == "usage" and "samples/cluster/encode.sh" in log
    assert "there is no gone.mkv" in job("gone.mkv").run("--local", 1, ok=False)
    assert "in a path with ? or #" in job("in.mkv", output="out#1.mxf").run("--local", 1, ok=False)
    assert "is not named .mxf" in job("in.mkv", output="out.mov").run("--local", 1, ok=False)


def test_without_slurm(ff, job, tmp_path):
    ff.film(tmp_path / "in.mkv", 2, *MPEG2)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "sed", "stat", "head"):
        (tools / name).symlink_to(shutil.which(name))
    assert "there is no sbatch here" in job("in.mkv", environment={"PATH": str(tools)}).run(ok=False)

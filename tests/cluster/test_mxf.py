# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""samples/cluster/mxf.py: the file that the muxer writes for stubs becomes the one that it writes for packets."""

import hashlib
import importlib.util
import os

import pytest

from job import SCRIPTS

spec = importlib.util.spec_from_file_location("mxf", SCRIPTS / "mxf.py")
mxf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mxf)

SOUND = ("-f", "lavfi", "-i", "sine=r=48000:d=20", "-c:a", "pcm_s16le", "-frames:v", 520)
FILES = {  # muxer, options: more than 500 frames have three partitions of pictures
    "picture": ("mxf", ("-frames:v", 520)),
    "sound": ("mxf", SOUND),
    "fields": ("mxf", ("-frames:v", 3, "-flags", "+ildct", "-field_order", "tt", "-vf", "setfield=tff")),
    "imf": ("mxf_imf", ("-frames:v", 3, "-strict", "unofficial")),
    "dcp": ("mxf_dcp", ("-frames:v", 3, "-strict", "unofficial")),
}


@pytest.fixture(name="film")
def _film(ff, tmp_path):
    def make(muxer, options):
        path = tmp_path / "film.mxf"
        ff("-f", "lavfi", "-i", "testsrc2=s=32x32:r=30000/1001", *options, "-c:v", "j2k_cuda", "-b:v", "300k", "-fflags", "+bitexact", "-f",
           muxer, path)
        return path
    return make


def laid_out(path, folder):
    """Runs `stubs` and `layout`. Returns the paths of layout and glue, and the packets."""
    data = path.read_bytes()
    packets = [data[begin:end] for begin, end in mxf.pictures(data)]
    (folder / "sizes").write_text("".join(f"packet {len(packet)} x\n" for packet in packets))
    mxf.write_stubs(path, folder / "stubs")
    assert (folder / "stubs").stat().st_size < len(data)
    mxf.write_layout(folder / "stubs", folder / "sizes", folder / "glue", folder / "layout")
    return folder / "layout", folder / "glue", packets


@pytest.mark.parametrize("kind", FILES)
def test_there_and_back(film, tmp_path, kind):
    path = film(*FILES[kind])
    layout, glue, packets = laid_out(path, tmp_path)
    assert len(packets) == FILES[kind][1][FILES[kind][1].index("-frames:v") + 1]
    made, around = b"", glue.read_bytes()
    for line in layout.read_text().splitlines():
        size, _, picture = line.split()
        made += around[:int(size)]
        around = around[int(size):]
        if int(picture):
            made += packets.pop(0)
    assert made == path.read_bytes()


def test_long_packets(film):
    """Of 16 MiB and more: a longer length, and what follows is moved by it."""
    data = film("mxf", ("-frames:v", 3)).read_bytes()
    layout = mxf.Layout(data, [5, 1 << 24, 7])
    first, second, *_ = layout.glue()
    assert first.endswith(bytes.fromhex("83000005")) and second.endswith(bytes.fromhex("880000000001000000"))
    assert list(layout.body.values())[:3] == [0, 25, 50 + (1 << 24)]


@pytest.mark.parametrize("when", ["written", "source"])
def test_placing_is_checked(film, tmp_path, capsys, monkeypatch, when):
    """A byte that changes on the way to the disk, and a source that is not the one that was hashed."""
    path, output = film("mxf", ("-frames:v", 5)), tmp_path / "out.mxf"
    layout, glue, _ = laid_out(path, tmp_path)
    output.touch()
    os.truncate(output, int(capsys.readouterr().out))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    mxf.place(layout, glue, 0, path, sha256, output)
    assert output.read_bytes() == path.read_bytes()

    def spoil(*_):
        with open(output, "r+b") as file:
            file.seek(output.stat().st_size // 2)
            file.write(b"X")
    if when == "written":
        monkeypatch.setattr(mxf.os, "posix_fadvise", spoil)
        message = "does not have what was written"
    else:
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        message = "has changed since it was done"
    with pytest.raises(mxf.Failure, match=message):
        mxf.place(layout, glue, 0, path, sha256, output)


def test_other_files_are_refused(film, tmp_path):
    path = film("mxf", ("-frames:v", 3))
    data = path.read_bytes()
    for bad, message in ((data[:-200], "no MXF element at byte"), (b"x" * 100, "no MXF element at byte 0"), (b"", "is empty")):
        (tmp_path / "bad.mxf").write_bytes(bad)
        with pytest.raises(mxf.Failure, match=message):
            mxf.write_stubs(tmp_path / "bad.mxf", tmp_path / "stubs")
    with pytest.raises(mxf.Failure, match="3 packets, not 4"):
        mxf.Layout(data, [1, 2, 3, 4])
    with pytest.raises(mxf.Failure, match="more than 2 packets"):
        mxf.Layout(data, [1, 2])

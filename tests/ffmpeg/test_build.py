# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What ffmpeg-patch/build.sh makes: the licence, and the components that post-production needs."""

import pathlib
import re
import sys

import pytest

from tools import mxf_is_patched, names_of, run

NEEDED = {
    "filters": """lut3d haldclut colorspace overlay yadif bwdif separatefields weave loudnorm scale crop pad transpose
        tonemap fps telecine psnr ssim concat blend format""",
    "decoders": """jpeg2000 prores dnxhd cfhd r210 v210 targa sgi dpx tiff exr png h264 hevc vp9 vc1 mpeg2video dvvideo
        aac ac3 eac3 mp3float flac opus pcm_s24le pcm_s24be""",
    "encoders": "j2k_cuda libopenjpeg prores_ks dnxhd dpx tiff exr ffv1 mpeg2video aac flac pcm_s24le",
    "demuxers": "mov mxf matroska mpegts avi image2 yuv4mpegpipe wav flac concat",
    "muxers": "mxf mxf_d10 mxf_opatom mxf_dcp mxf_imf mov matroska mpegts image2 wav framemd5",
}
# Components that come with a library, and its flag.
WITH = {
    "--enable-libzimg": ("filters", "zscale"),
    "--enable-libdav1d": ("decoders", "libdav1d"),
    "--enable-libxml2": ("demuxers", "imf"),
    "--enable-libfreetype": ("filters", "drawtext"),
    "--enable-cuda-llvm": ("filters", "scale_cuda"),
    "--enable-gpl": ("filters", "tinterlace"),
}


@pytest.fixture(name="flags")
def _flags(ff):
    return run(ff.program, "-hide_banner", "-buildconf").stdout.decode().split()


def test_licence(ff, flags):
    """Highway asks for version 3."""
    assert "--enable-version3" in flags and "--enable-nonfree" not in flags, flags
    text = run(ff.program, "-hide_banner", "-L").stdout.decode()
    licence = "GNU General Public" if "--enable-gpl" in flags else "GNU Lesser General Public"
    assert licence in text and re.search(r"version 3 of the License, or", text), text


@pytest.mark.parametrize("what", NEEDED)
def test_components(ff, flags, what):
    if "h264" not in names_of(ff.program, "decoders"):
        pytest.skip("this ffmpeg was built for the tests alone")
    needed = {*NEEDED[what].split()}
    if not mxf_is_patched(ff):
        needed -= {"mxf_dcp", "mxf_imf"}
    missing = needed - names_of(ff.program, what)
    missing |= {name for flag, (kind, name) in WITH.items() if kind == what and flag in flags} - names_of(ff.program, what)
    assert not missing, f"no {what} {missing}"


def test_exported_series(ff):
    """What build.sh --export writes for this version applies by "git am" to the release."""
    version = ".".join(run(ff.program, "-version").stdout.decode().split()[2].split(".")[:2])
    script = pathlib.Path(__file__).resolve().parents[1] / "package/export_test.py"
    result = run(sys.executable, "-B", script, version, ok=None)
    if result.returncode == 77:
        pytest.skip(result.stdout.decode().splitlines()[-1])
    assert result.returncode == 0, result.stdout.decode()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""export_test.py [BUILD_DIR] VERSION: the series of `build.sh --export` are what FFmpeg's developers would take.

Each applies with "git am" to the release, and so do all together. With BUILD_DIR, which takes minutes: they have no trace of other
releases, compile without a warning, pass the FATE tests that they bring, "make fate-source" and tools/patcheck, but for findings
that are listed here with the reason.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD, VERSION = pathlib.Path(sys.argv[1]) if len(sys.argv) > 2 else None, sys.argv[-1]
SKIPPED = 77

# tools/patcheck guesses by regular expressions. Its findings in C files that are none:
FALSE_ALARMS = {
    "reserved identifer": r"__VA_ARGS__|\b_IO[FLN]BF\b",  # names of the C standard
    "These functions may need av_cold": r"\b(send_frame|mxf_init_track_file_sound)\(",  # neither frees anything
    "Please use av_log": r"\bav_printf_format\b",  # an attribute
    "missing void": r"^\+(/\*| \*|.*///<)",  # a comment that names a function
    "divide by 2^x could use >> maybe": r"",  # a ratio of signed numbers, and no loop
    "x==0 / x!=0 can be simplified": r"log2_prec_(height|width) \+ reducedresno",  # written as FFmpeg's lines beside it are
    "missing } prior to else": r"",  # FFmpeg's style has no braces around one statement
    "missing const for pix_fmts array": r"define CODEC_PIXFMTS_ARRAY",  # what the array is, its users say
    "Non doxy comments": r"",  # /** */ is for files, types and functions
}

# Components for the FATE tests of the series.
FATE = {
    "encoders": "jpeg2000,rawvideo,pcm_s16le,pcm_s24le,wrapped_avframe",
    "decoders": "jpeg2000,rawvideo,pcm_s16le,pcm_s24le,png,wrapped_avframe,pgmyuv",
    "demuxers": "mxf,nut,rawvideo,image2,image_j2k_pipe,wav,mov,matroska",
    "muxers": "mxf,mxf_opatom,mxf_dcp,mxf_imf,nut,rawvideo,framecrc,mov,matroska,image2,crc",
    "filters": "scale,format,setparams,setfield,separatefields,aresample",
}


def run(*command, cwd=None, env=None, ok=True):
    result = subprocess.run([str(c) for c in command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    if ok and result.returncode:
        sys.exit(f"exit status {result.returncode}: {' '.join(map(str, command))}\n{result.stdout[-3000:]}")
    return result


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def unpack(folder):
    cache = pathlib.Path(os.environ.get("CJ2K_CACHE") or
                         pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "cj2k")
    tarball = sorted((cache / "ffmpeg/source").glob(f"ffmpeg_{VERSION}.*.orig.tar.?z"))[-1]
    folder.mkdir()
    run("tar", "-xf", tarball, "-C", folder, "--strip-components=1")


def apply(tree, series):
    """Each series on the release, then one on top of the other."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
    run("git", "-c", "init.defaultBranch=main", "init", "-q", cwd=tree)
    text = "".join(patch.read_text(encoding="utf-8") for patch in sum(series, []))
    names = sorted(name for name in set(re.findall(r"^--- a/(.*)$", text, flags=re.M)) if (tree / name).exists())
    run("git", "add", "-f", *(["."] if BUILD else names), cwd=tree)  # all of FFmpeg, which fate-source reads, takes long
    run(*git, "commit", "-q", "-m", "release", cwd=tree)
    run("git", "tag", "release", cwd=tree)
    for patches in (*series, sum(series, [])):
        run("git", "checkout", "-q", "--detach", "release", cwd=tree)
        run(*git, "am", "--whitespace=error", *patches, cwd=tree)
        log = run("git", "log", "--format=%an <%ae>", "release..", cwd=tree).stdout.splitlines()
        assert set(log) == {"libcj2k authors <libcj2k@localhost>"} and len(log) == len(patches), log
    changed = run("git", "diff", "--name-only", "release", cwd=tree).stdout.split()
    for name in ("Changelog", "MAINTAINERS", "configure", "doc/encoders.texi", "doc/general_contents.texi",
                 "doc/bitstream_filters.texi", "libavcodec/libcj2kenc.c", "libavcodec/j2k_transcode_bsf.c", "libavcodec/version.h"):
        assert name in changed, f"{name} is not changed: {changed}"


def check_source(path):
    text = path.read_text(encoding="utf-8")
    for trace in (r"\b(5\.1|7\.1|8\.1|9\.0)\b", r"\b6\.0\b", r"#if.*LIBAV\w+_VERSION", r"#ifn?def (?!CJ2K)"):
        found = re.search(trace, text)
        assert not found, f"{path.name} knows of other versions: {found[0]}"


def check_patcheck(tree, patch):
    """Every finding in a line of a C file must be one of FALSE_ALARMS."""
    lines = patch.read_text(encoding="utf-8").splitlines()
    in_c, source = False, set()
    for number, line in enumerate(lines, 1):
        if line.startswith("+++ "):
            in_c = line.endswith((".c", ".h"))
        elif in_c:
            source.add(number)
    text = re.sub(r"\x1b\[[0-9;]*[mK]", "", run("sh", "tools/patcheck", patch, cwd=tree, ok=None).stdout)
    heading, findings = "", 0
    for line in text.splitlines():
        found = re.match(re.escape(str(patch)) + r":(\d+):(.*)", line)
        if not found:
            if line.strip() not in ("", "--", "NULL") and not line.startswith(str(patch)):
                heading = line.strip()
        elif int(found[1]) in source:
            findings += 1
            known = [pattern for name, pattern in FALSE_ALARMS.items() if heading.startswith(name)]
            assert known and re.search(known[0], found[2]), f"patcheck: {heading}: {found[2]}"
    print(f"{patch.name}: {findings} findings of patcheck in C files, all known")


def check_build(tree, scratch):
    """Configured as small as it gets; without --enable-version3 it is refused."""
    run("cmake", "--install", BUILD, "--prefix", scratch / "prefix")
    pc = next((scratch / "prefix").rglob("cj2k.pc")).parent
    env = os.environ | {"PKG_CONFIG_PATH": f"{pc}:{os.environ.get('PKG_CONFIG_PATH', '')}"}
    small = ["./configure", "--disable-everything", "--disable-autodetect", "--disable-doc", "--enable-zlib",
             "--enable-libcj2k", "--enable-encoder=j2k_cuda", f"--enable-encoder={FATE['encoders']}",
             f"--enable-decoder={FATE['decoders']}", f"--enable-demuxer={FATE['demuxers']}", f"--enable-muxer={FATE['muxers']}",
             f"--enable-filter={FATE['filters']}", "--enable-bsf=j2k_jp2,j2k_transcode", "--enable-parser=jpeg2000", "--enable-protocol=file,pipe"]
    if shutil.which("ccache"):
        small.append("--cc=ccache gcc")
    refused = run(*small, cwd=tree, env=env, ok=None)
    assert refused.returncode and "libcj2k is version3" in refused.stdout, refused.stdout[-500:]
    run(*small, "--enable-version3", cwd=tree, env=env)
    log = run("make", "libavcodec/libcj2kenc.o", "libavcodec/j2k_transcode_bsf.o", "libavformat/mxfenc.o", "libavformat/mxfdec.o",
              cwd=tree).stdout
    assert "CC\tlibavcodec/libcj2kenc.o" in log and "CC\tlibavcodec/j2k_transcode_bsf.o" in log, log
    assert "warning:" not in log.split("CC\tlibavcodec/libcj2kenc.o")[1], log
    run("make", "fate-source", f"SAMPLES={scratch}", cwd=tree)
    later = ["fate-bsf-j2k-jp2-straight", "fate-bsf-j2k-jp2-premultiplied"] if VERSION != "7.1" else []
    fate = run("make", f"-j{os.cpu_count()}", "fate-mxf-j2k", "fate-jpeg2000-fields", "fate-jpeg2000-yuv440p10", "fate-bsf-j2k-jp2",
               "fate-bsf-j2k-jp2-unwrap", "fate-jpeg2000-yuv444p-mov", "fate-jpeg2000-yuv444p-matroska", "fate-lavf-jp2",
               "fate-mxf-j2k-profile", "fate-mxf-j2k-light-level", "fate-jpeg2000dec-cprl", "fate-jpeg2000dec-rpcl",
               "fate-jpeg2000dec-ht-magnitudes", "fate-jpeg2000dec-32-levels", *later, f"SAMPLES={scratch / 'out/fate-suite'}", cwd=tree).stdout
    print(f"{fate.count('TEST')} tests of FATE pass")
    assert fate.count("TEST") >= 30 + len(later), fate


def main():
    for tool in ("git", "unifdef", "perl"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    # patcheck takes "-_" in the path, which a random name can make of a hyphen, for an identifier.
    with tempfile.TemporaryDirectory(prefix="export") as name:
        scratch = pathlib.Path(name)
        export = run(ROOT / "ffmpeg-patch/build.sh", "--export", scratch / "out", VERSION, ok=None)
        if export.returncode == 3:
            skip(f"no suite has FFmpeg {VERSION}")
        assert export.returncode == 0, export.stdout
        series = [sorted(folder.iterdir()) for folder in sorted((scratch / "out").iterdir())
                  if any(folder.iterdir()) and folder.name != "fate-suite"]
        assert len(series) == (1 if VERSION == "5.1" else 3), series
        tree = scratch / "ffmpeg"
        unpack(tree)
        apply(tree, series)
        if BUILD:
            for patch in sum(series, []):
                check_patcheck(tree, patch)
            check_source(tree / "libavcodec/libcj2kenc.c")
            check_source(tree / "libavcodec/j2k_transcode_bsf.c")
            check_build(tree, scratch)


main()

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the image has, and how it encodes."""

import gzip
import json
import re
import subprocess

import pytest

from conftest import ROOT, storage

CLIP = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=24"]


def test_the_encoder_is_listed(image):
    out = image.run("-hide_banner", "-encoders").stdout.decode()
    assert re.search(r"^ V\S+ j2k_cuda ", out, re.M)


def test_labels_and_settings(image):
    config = image.inspect()
    labels, env = config["Labels"], dict(item.split("=", 1) for item in config["Config"]["Env"])
    header = (ROOT / "libcj2k/include/cj2k.h").read_text()
    version = ".".join(re.findall(r"^#define CJ2K_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
    prefix = "org.opencontainers.image."
    assert labels[prefix + "version"] == version
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", labels[prefix + "revision"])
    assert labels[prefix + "licenses"] == "BSD-2-Clause AND LGPL-3.0-or-later"
    # One time for all: the label, and the image itself.
    assert labels[prefix + "created"][:19] == config["Created"][:19]
    assert f"ARG VERSION={version}\n" in (ROOT / "Dockerfile").read_text()
    assert env["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,video,utility"
    assert config["Config"]["Entrypoint"] == ["ffmpeg"]
    assert config["User"].split(":")[0] not in ("", "0", "root")


def test_health_check(image):
    kind, command = image.inspect()["Healthcheck"]["Test"]
    assert kind == "CMD-SHELL"
    image.run("-c", command, entrypoint=["/bin/sh"])
    # Where a service asks for a GPU, its absence is ill health.
    ill = image.run("-c", command, entrypoint=["/bin/sh"], env=["CJ2K_HEALTH_DEVICE=cuda"], ok=False)
    assert "j2k_cuda" in ill.log


@pytest.mark.parametrize("user", ["65532:65532", "4711:0", "1000990000:1000990000"])
def test_any_uid_and_a_read_only_root(image, folder, data, user):
    image.run("-v", "error", *CLIP, "-frames:v", 3, "-c:v", "j2k_cuda", "-b:v", "24M", "/data/out.mxf", user=user, volumes=data)
    assert f"{(folder / 'out.mxf').stat().st_uid}" == user.split(":")[0]
    assert image.ffprobe(folder, "out.mxf", "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets") == ["jpeg2000,3"]


def test_a_folder_in_and_mxf_out(image, folder):
    """Input and output are mounts of their own, as a service has them; what comes out is what went in."""
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for path in (folder / "in", folder / "out"):
        path.chmod(0o777)
    image.run("-v", "error", *CLIP, "-f", "lavfi", "-i", "sine=sample_rate=48000", "-t", "0.5", "-pix_fmt", "gbrp", "-c:v", "png",
              "-c:a", "pcm_s16le", "/in/clip.mov", volumes=[(folder / "in", "/in", "rw")])
    mounts = [(folder / "in", "/in", "ro"), (folder / "out", "/out", "rw")]
    image.run("-v", "error", "-i", "/in/clip.mov", "-c:v", "j2k_cuda", "-lossless", 1, "-c:a", "pcm_s16le", "/out/film.mxf",
              volumes=mounts)
    sums = [image.run("-v", "error", "-i", name, "-map", "0:v", "-pix_fmt", "gbrp", "-f", "framemd5", "-", volumes=mounts).stdout
            for name in ("/in/clip.mov", "/out/film.mxf")]
    md5 = [re.findall(rb"[0-9a-f]{32}", text) for text in sums]
    assert len(md5[0]) == 12 and md5[0] == md5[1]
    image.run("--json", "/out/film.mxf", entrypoint=["cj2k-check"], volumes=mounts)


def test_only_what_runs(image):
    """No compiler, no header, no list of packages to install, no file of the build that any user may change."""
    script = ("command -v gcc g++ cc make python3 nvcc; find /usr/include -type f 2>/dev/null | head; "
              "find /var/lib/apt/lists /var/cache/apt /var/log -type f; find /usr /opt -xdev -type f -perm -0002; "
              "dpkg-query -W -f '${Package}\\n' | grep -e '-dev$'")
    out = image.run("-c", script + "; true", entrypoint=["/bin/sh"]).stdout.decode()
    assert out == ""


def test_licences_and_documents(image):
    files = image.run("-c", "cd /usr/share/doc && find cj2k ffmpeg-j2k_cuda -type f", entrypoint=["/bin/sh"]).stdout.decode().split()
    for name in ("cj2k/LICENSE", "cj2k/docs/container.md", "ffmpeg-j2k_cuda/COPYING.LGPLv3", "ffmpeg-j2k_cuda/j2k_cuda.patch",
                 "ffmpeg-j2k_cuda/libcj2kenc.c", "ffmpeg-j2k_cuda/j2k_transcode_bsf.c", "ffmpeg-j2k_cuda/SOURCE"):
        assert name in files
    source = image.run("-c", "cat /usr/share/doc/ffmpeg-j2k_cuda/SOURCE", entrypoint=["/bin/sh"]).stdout.decode()
    assert re.search(r"^tarball: ffmpeg_\S+\.orig\.tar\.\wz", source, re.M) and "--enable-libcj2k" in source
    patches = re.findall(r"^patch: (\S+)$", source, re.M)
    assert "j2k_cuda.patch" in patches and len(patches) > 20 and all(f"ffmpeg-j2k_cuda/{name}" in files for name in patches), patches


def sbom_of(image):
    return json.loads(image.run("-c", "cat /usr/share/doc/cj2k/sbom.spdx.json", entrypoint=["/bin/sh"]).stdout)


def test_sbom(image):
    """It lists each package of the image with version and licence, and what the image adds to them."""
    sbom = sbom_of(image)
    installed = image.run("-W", "-f", "${Package} ${Version}\\n", entrypoint=["dpkg-query"]).stdout.decode().splitlines()
    listed = {f"{p['name']} {p['versionInfo']}" for p in sbom["packages"]}
    assert set(installed) <= listed
    assert {entry.split()[0] for entry in listed - set(installed)} == {"ffmpeg", "libcj2k"} | (
        {"nv-codec-headers"} & {p["name"] for p in sbom["packages"]})
    assert sbom["spdxVersion"] == "SPDX-2.3"
    references = {info["licenseId"] for info in sbom["hasExtractedLicensingInfos"]}
    words = set()
    for package in sbom["packages"]:
        assert package["licenseDeclared"] not in ("", "NOASSERTION")
        words |= set(re.findall(r"[A-Za-z0-9.+-]+", package["licenseDeclared"]))
    assert {word for word in words if word.startswith("LicenseRef-")} == references
    licences = {p["name"]: p["licenseDeclared"] for p in sbom["packages"]}
    assert licences["ffmpeg"] == "LGPL-3.0-or-later" and licences["libcj2k"] == "BSD-2-Clause"
    assert "Zlib" in licences["zlib1g"]


def test_libraries_of_the_list_are_loaded(image):
    """No program misses a library, and no package is there that only the build needed."""
    out = image.run("-c", "for p in ffmpeg ffprobe cj2k-check; do ldd /usr/local/bin/$p; done", entrypoint=["/bin/sh"]).stdout.decode()
    assert "not found" not in out and "libhwy" in out


def test_full_ffmpeg(image, full):
    """What a service expects beyond the small build."""
    def listed(what):
        out = image.run("-hide_banner", f"-{what}").stdout.decode()
        return set(re.findall(r"[A-Za-z0-9_]+", out))
    assert {"https", "tls", "srt", "rtmp", "ftp"} <= listed("protocols")
    assert {"libdav1d", "cfhd", "r210", "targa", "sgi", "mp3", "eac3", "vc1", "prores", "jpeg2000"} <= listed("decoders")
    assert {"imf", "mxf", "mov", "dash"} <= listed("demuxers")
    assert {"libopus", "libmp3lame", "libvpx", "libsvtav1", "libopenh264", "j2k_cuda", "h264_nvenc"} <= listed("encoders")
    assert {"zscale", "drawtext", "subtitles", "loudnorm", "scale_cuda"} <= listed("filters")
    cuda = image.run("-v", "error", *CLIP, "-frames:v", 1, "-c:v", "j2k_cuda", "-device", "cuda", "-f", "null", "-", ok=False)
    assert "without CUDA" not in cuda.log


def test_size(image, full):
    """Compressed as registries keep it. The aim is 120 MB."""
    save = subprocess.Popen([*image.podman, "save", "--format", "docker-archive", image.name], stdout=subprocess.PIPE)
    size = 0

    class Counter:
        def write(self, data):
            nonlocal size
            size += len(data)
            return len(data)

    with gzip.GzipFile(fileobj=Counter(), mode="wb", compresslevel=6) as packed:
        while block := save.stdout.read(1 << 20):
            packed.write(block)
    assert save.wait() == 0
    print(f"{size / 1e6:.1f} MB compressed")
    assert size < 120e6


def test_builds_twice_alike(image, full):
    """The same checkout and packages give the same layers."""
    def layers(name):
        out = subprocess.run([*storage("podman"), "image", "inspect", name], capture_output=True, check=True).stdout
        return json.loads(out)[0]["RootFS"]["Layers"]
    assert layers("localhost/cj2k:1") == layers("localhost/cj2k:2")

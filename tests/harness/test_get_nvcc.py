# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""scripts/get_nvcc.sh with made-up drivers, toolkits and registries: which nvcc it takes, and what it says where there is none."""

import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/get_nvcc.sh"
NVCC = """#!/bin/sh
case $1 in --version) echo "Cuda compilation tools, release {version}, V{version}.88"; exit ;; esac
{compile}
"""
OWN_TOOLKIT = pathlib.Path("/usr/local/cuda/bin")
DRIVER = "int cuDriverGetVersion(int *v) {{ *v = {version}; return 0; }}\n"


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A PATH with only what is put there, beside the system's own programs."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        # Links, so that an nvcc beside them is not found.
        for name in ("bash", "cat", "cut", "g++", "gcc", "as", "grep", "head", "id", "mkdir", "mktemp", "python3", "rm", "sed",
                     "sort", "tail", "chmod", "basename", "dirname", "cp", "mv"):
            self.bin.mkdir(exist_ok=True)
            source = "/usr/bin/python3" if name == "python3" else shutil.which(name)
            os.symlink(source, self.bin / name)
        self.env = {"PATH": str(self.bin), "HOME": str(folder), "CUDA_PATH": ""}
        self.apt("(none)")
        self.pip('echo "ERROR: No matching distribution found for nvidia-cuda-nvcc" >&2; exit 1')

    def nvcc(self, version, where="bin", compile_="exit 0"):
        return executable(self.folder / where / "nvcc", NVCC.format(version=version, compile=compile_))

    def apt(self, candidate):
        executable(self.bin / "apt-cache", f"#!/bin/sh\necho 'nvidia-cuda-toolkit:'; echo '  Candidate: {candidate}'\n")
        executable(self.bin / "apt-get", "#!/bin/sh\necho apt-get was called >&2; exit 1\n")

    def pip(self, download):
        """A python3 whose pip runs this shell script to download; $folder is where to."""
        (self.bin / "python3").unlink()
        executable(self.bin / "python3", f"""#!/bin/sh
if [ "$1 $2" != "-m pip" ]; then exec /usr/bin/python3 "$@"; fi
case "$*" in *--version*) exit ;; esac
while [ $# -gt 0 ]; do case $1 in -d) folder=$2 ;; esac; shift; done
{download}
""")

    def driver(self, version):
        source = self.folder / "driver.c"
        source.write_text(DRIVER.format(version=version))
        subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", self.folder / "libcuda.so.1"], check=True)
        self.env["LD_LIBRARY_PATH"] = str(self.folder)

    def call(self, command, **env):
        """Exit status, stdout and stderr of a command, where the machine's own toolkit cannot be seen."""
        if OWN_TOOLKIT.exists():
            command = ["/usr/bin/unshare", "-m", "/bin/bash", "-c", f'/bin/mount -t tmpfs none {OWN_TOOLKIT} && exec "$0" "$@"', *command]
        done = subprocess.run(command, capture_output=True, text=True, env={**self.env, **env})
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def get(self, *options):
        return self.call([SCRIPT, *options, self.folder / "cuda"])


@pytest.fixture
def machine(tmp_path):
    if OWN_TOOLKIT.exists() and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip(f"cannot hide {OWN_TOOLKIT}")
    return Machine(tmp_path)


def test_nvcc_of_the_machine(machine):
    nvcc = machine.nvcc("12.4")
    assert machine.get() == (0, str(nvcc), "nvcc 12.4.88 from this machine")


def test_another_toolkit_where_the_first_is_too_old_or_fails(machine):
    machine.nvcc("11.8")
    broken = machine.nvcc("12.2", "cuda-12/bin", 'echo "error: unsupported GNU version" >&2; exit 1').parents[1]
    machine.env |= {"CUDA_PATH": str(broken), "CUDA_HOME": str(machine.nvcc("13.0", "cuda-13/bin").parents[1])}
    assert machine.get() == (0, str(machine.folder / "cuda-13/bin/nvcc"), "nvcc 13.0.88 from this machine")
    machine.env["CUDA_HOME"] = ""
    status, out, err = machine.get()
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert "11.8, 12.0 or newer is needed" in err and "12.2 fails: error: unsupported GNU version" in err


def test_without_a_driver_nothing_is_fetched(machine):
    machine.nvcc("13.0")
    machine.env["LD_LIBRARY_PATH"] = str(machine.folder)
    if machine.get("--for-driver")[0] == 0:
        pytest.skip("this machine has a driver")
    assert machine.get("--for-driver") == (3, "", "no NVIDIA driver: no nvcc needed")


def test_not_newer_than_the_driver(machine):
    machine.nvcc("13.0")
    machine.driver(12040)
    status, _, err = machine.get("--for-driver")
    assert (status, len(err.splitlines())) == (1, 1)
    assert "13.0, but the driver is for CUDA 12.4" in err and "a newer driver, or a CUDA toolkit 12, is needed" in err
    machine.driver(13020)
    assert machine.get("--for-driver")[0] == 0


def test_version_of_the_distribution(machine):
    for candidate, reason in (("11.8.89~11.8.0-5~deb12u1", "is 11.8.89, 12.0 or newer is needed"),
                              ("(none)", "the distribution's sources have no nvidia-cuda-toolkit")):
        machine.apt(candidate)
        status, _, err = machine.get()
        assert (status, len(err.splitlines())) == (1, 1) and reason in err and "apt-get was called" not in err
    machine.apt("99.1.2-3")
    err = machine.get()[2]
    assert "nvidia-cuda-toolkit: apt-get was called" in err or "root could install" in err


def test_wheels(machine):
    """They are unpacked, made executable and used; the second time without pip."""
    wheel = executable(machine.folder / "wheel/nvidia/cu13/bin/nvcc", NVCC.format(version="13.0", compile="exit 0"))
    for path in (wheel.parents[1] / "nvvm/bin/cicc", machine.folder / "wheel/nvidia_cuda_nvcc-13.0.88.dist-info/licenses/License.txt"):
        executable(path, "")
    packed = shutil.make_archive(str(machine.folder / "packed"), "zip", machine.folder / "wheel")
    machine.pip(f'mkdir -p "$folder"; cp {packed} "$folder/nvcc.whl"')
    nvcc = machine.folder / "cuda/bin/nvcc"
    assert machine.get() == (0, str(nvcc), f"nvcc 13.0.88 from PyPI, in {nvcc.parents[1]}")
    assert os.access(nvcc.parents[1] / "nvvm/bin/cicc", os.X_OK)
    assert (nvcc.parents[1] / "licenses/nvidia_cuda_nvcc-13.0.88/License.txt").exists()
    machine.pip("exit 1")
    assert machine.get() == (0, str(nvcc), f"nvcc 13.0.88 from {nvcc.parents[1]}")


def test_the_reason_is_one_line(machine):
    status, out, err = machine.get()
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert err.startswith("no nvcc: ") and "PyPI: ERROR: No matching distribution found" in err


def quickstart(machine, **env):
    """The lines that samples/quickstart.sh prints until it calls ffmpeg-patch/build.sh, and what it asks that for."""
    tree = machine.folder / "tree"
    for name in ("samples/quickstart.sh", "scripts/get_nvcc.sh"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPT.parents[1] / name, tree / name)
    executable(tree / "scripts/install_deps.sh", "#!/bin/sh\n")
    executable(tree / "ffmpeg-patch/build.sh", "#!/bin/sh\necho \"CJ2K_CUDA=$CJ2K_CUDA CJ2K_NVCC=$CJ2K_NVCC\"; exit 9\n")
    status, out, err = machine.call([tree / "samples/quickstart.sh"], **env)
    assert status == 9
    return out.splitlines()[-1], [*err.splitlines(), *out.splitlines()[:-1]]


def test_quickstart(machine):
    """With a driver and no nvcc one is fetched into build/; where that fails, the reason is one line, and the CPU is taken."""
    machine.env["LD_LIBRARY_PATH"] = str(machine.folder)
    machine.driver(13000)
    asked, lines = quickstart(machine)
    assert asked == "CJ2K_CUDA=OFF CJ2K_NVCC="
    assert len(lines) == 2 and lines[0].startswith("no nvcc: ") and lines[1] == "going on with the CPU"
    assert quickstart(machine, CJ2K_CUDA="OFF") == ("CJ2K_CUDA=OFF CJ2K_NVCC=", [])
    wheel = executable(machine.folder / "wheel/nvidia/cu13/bin/nvcc", NVCC.format(version="13.0", compile="exit 0"))
    machine.pip(f'mkdir -p "$folder"; cd {machine.folder}/wheel; /usr/bin/python3 -m zipfile -c "$folder/nvcc.whl" nvidia')
    asked, lines = quickstart(machine)
    nvcc = machine.folder / "tree/build/cuda/bin/nvcc"
    assert (asked, lines) == (f"CJ2K_CUDA=AUTO CJ2K_NVCC={nvcc}", [f"nvcc 13.0.88 from PyPI, in {nvcc.parents[1]}"])
    assert nvcc.read_text() == wheel.read_text()

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slurm cluster for tests: munged, slurmctld and four slurmd on this machine, on free ports.

Everything lies in one folder: configuration, key, socket, state and logs. Nothing of the machine's own Slurm or munge is used.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

NODES = ("n0", "n1", "n2", "n3")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")

CONFIG = """\
ClusterName=cj2k
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[4]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1,sched_min_interval=100000
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
JobRequeue=1
RequeueExit=137,143
ReturnToService=2
SlurmdTimeout=5
KillWait=2
MessageTimeout=4
MaxArraySize=1001
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=n[0-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[0]}-{ports[3]}] CPUs=1 Gres=gpu:1
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Unavailable(Exception):
    """Why there can be no cluster on this machine."""


def free_ports(count):
    """The first of `count` free ports in a row."""
    for first in range(16000 + os.getpid() % 97 * 100, 32000, 10):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return list(range(first, first + count))
    raise Unavailable("no free ports")


def processes():
    """(PID, parent, command name, environment) of every process that can be read."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                yield int(entry.name), int(rest.split()[1]), name, (entry / "environ").read_bytes().split(b"\0")


class Slurm:
    """Started by `start`, ended by `stop`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._daemons = {}

    @staticmethod
    def why_not():
        """Why there can be none on this machine; None if there can."""
        missing = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
        if missing:
            return f"{', '.join(missing)} not installed (scripts/install_deps.sh cluster)"
        return "slurmd runs tasks only as root" if os.geteuid() != 0 else None

    def start(self):
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir(mode=0o700)
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
        (self.folder / "slurm.conf").write_text(CONFIG.format(
            host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.geteuid()).pw_name, folder=self.folder,
            ports=free_ports(5)))
        self._start_munge()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self._wait_for(lambda: self.states().count("idle") == 4, "four idle nodes")

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._spawn("munge", "munged", "--foreground", "--force", f"--key-file={key}", "--num-threads=2",
                    *(f"--{name}-file={self.folder}/munge.{name}" for name in ("pid", "seed", "log")),
                    f"--socket={self.folder}/munge.socket")
        self._wait_for((self.folder / "munge.socket").exists, "munged")

    def _spawn(self, name, *command):
        environment = self.environment | {"PATH": os.environ["PATH"] + ":/usr/sbin"}
        with open(self.folder / f"{name}.out", "ab") as log:
            self._daemons[name] = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   start_new_session=True)

    def start_controller(self):
        self._spawn("slurmctld", "slurmctld", "-D")
        self._wait_for(lambda: self.run("scontrol", "ping").returncode == 0, "slurmctld")

    def kill_controller(self):
        """SIGKILL, once it has saved that its tasks run: what it has not saved it does not know after."""
        saved = self.folder / "state/job_state"
        begin = time.time()
        self._wait_for(lambda: saved.exists() and saved.stat().st_mtime > begin, "the state of the jobs")
        self._kill("slurmctld")

    def start_node(self, node):
        self._spawn(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node):
        """SIGKILL to slurmd, its slurmstepd and every process of their jobs, as if the node had lost its power. Returns the
        number of the jobs' processes."""
        marks = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.folder}/slurm.conf".encode()}
        table = list(processes())
        tasks = {pid for pid, _, name, environment in table
                 if marks <= set(environment) and name not in ("slurmd", "slurmstepd")}
        parents = {parent for pid, parent, _, _ in table if pid in tasks}
        steps = {pid for pid, _, name, _ in table if pid in parents and name.startswith("slurmstepd")}
        self._kill(node)
        for pid in [*steps, *tasks]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(tasks)

    def _kill(self, name):
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def run(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    def states(self):
        return self.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()

    def queue(self, form="%N"):
        """A field of each task that runs."""
        return self.run("squeue", "-h", "-r", "-t", "R", "-o", form).stdout.split()

    def mend(self):
        """What an administrator does after a controller has come back without its last seconds: the nodes that it has drained,
        because they ran what it did not know, are resumed, and the tasks that it holds are released."""
        self._resume_nodes()
        for line in self.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i %r").stdout.splitlines():
            task, _, reason = line.partition(" ")
            if "held" in reason.lower():
                self.run("scontrol", "release", task)

    def _resume_nodes(self):
        if any(state.startswith(("drain", "down")) for state in self.states()):
            self.run("scontrol", "update", f"nodename={','.join(NODES)}", "state=resume")

    def revive(self):
        """All nodes, and no jobs, for the next test."""
        if "slurmctld" not in self._daemons:
            self.start_controller()
        self.run("scancel", "--user", pwd.getpwuid(os.geteuid()).pw_name)
        for node in set(NODES) - set(self._daemons):
            self.start_node(node)
        self._wait_for(self._idle, "idle nodes")

    def _idle(self):
        # A controller that has lost its memory drains nodes that run what it does not know.
        if not self.run("squeue", "-h").stdout:
            self._resume_nodes()
        return set(self.states()) == {"idle"} and not self.run("squeue", "-h").stdout

    def stop(self):
        self.run("scancel", "--user", pwd.getpwuid(os.geteuid()).pw_name)
        for node in NODES:
            if node in self._daemons:
                self.kill_node(node)
        for name in list(self._daemons):
            self._kill(name)
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for pid, _, _, environment in processes():  # steps that have lost their slurmd
            if mark in environment:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                logs = "\n".join(path.read_text(errors="replace")[-600:] for path in self.folder.glob("*.out"))
                raise Unavailable(f"waited {seconds} s for {what}; nodes are {self.states()}: {logs}")
            time.sleep(0.2)

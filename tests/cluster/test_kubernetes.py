# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""samples/cluster/indexed-job.yaml: valid, and what segment.sh and encode.sh expect. No cluster is at hand to run it."""

import re

import pytest

from job import SCRIPTS

yaml = pytest.importorskip("yaml", reason="no python3-yaml (scripts/install_deps.sh cluster)")
FILE = SCRIPTS / "indexed-job.yaml"


@pytest.fixture(name="manifest")
def _manifest():
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_schema(manifest):
    """By the schemas of Kubernetes 1.29; no field that they do not know."""
    validator = pytest.importorskip("kubernetes_validate", reason="no kubernetes-validate (pip install kubernetes-validate)")
    assert validator.validate(manifest, "1.29", strict=True) == "1.29"
    manifest["spec"]["completionMod"] = "Indexed"
    with pytest.raises(validator.ValidationError):
        validator.validate(manifest, "1.29", strict=True)


def test_structure(manifest):
    """What makes it an Indexed Job whose pods may fail and start again."""
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch/v1", "Job")
    spec = manifest["spec"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] >= spec["parallelism"] >= 1
    assert spec["backoffLimitPerIndex"] >= 1 and spec["maxFailedIndexes"] <= spec["completions"]
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never", "backoffLimitPerIndex asks for it"
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_command(ff, job, tmp_path, manifest):
    """The command and the environment of the pod do what the commands around it expect."""
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    script, folder = container["command"]
    planned = re.findall(r"encode\.sh --(plan|join) --segments (\d+) /film/in\.mov (/film/\S+) (.*)", FILE.read_text(encoding="utf-8"))
    assert [step for step, *_ in planned] == ["plan", "join"] and len({tuple(rest) for _, *rest in planned}) == 1
    assert script.endswith("/samples/cluster/segment.sh") and folder == planned[0][2] + ".segments"
    count = int(planned[0][1])
    assert count == manifest["spec"]["completions"] and [e["name"] for e in container["env"]] == ["CJ2K_FFMPEG"]
    ff.film(tmp_path / "in.mov", 24, "-c:v", "prores_ks", "-pix_fmt", "yuv422p10le")
    task = job("in.mov", *planned[0][3].split())
    for step in re.search("for step in (.*);", FILE.read_text(encoding="utf-8"))[1].split():
        assert f"next        {step} segments 0-{count - 1}" in task.run("--plan", "--segments", count)
        for index in reversed(range(count)):
            task.segment(index)
    task.run("--join", "--segments", count)
    task.check()

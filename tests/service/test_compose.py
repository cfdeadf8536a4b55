# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""compose.yaml, Dockerfile and README.md fit each other and the code. No Docker is needed."""

import re

import pytest
import yaml

from conftest import ROOT, SERVICE

# What a service of a compose file may have, as far as this one uses it, and its type.
KEYS = {"build": dict, "user": str, "read_only": bool, "cap_drop": list, "security_opt": list, "networks": list,
        "depends_on": dict, "command": list, "entrypoint": list, "restart": str, "stop_grace_period": str, "tmpfs": list,
        "volumes": list, "environment": dict, "deploy": dict, "profiles": list, "ports": list, "healthcheck": dict}
CODE = "".join(path.read_text() for path in sorted(SERVICE.glob("*.py")))


@pytest.fixture(name="compose")
def compose_file():
    return yaml.safe_load((SERVICE / "compose.yaml").read_text())


def test_compose_file_is_one(compose):
    assert {key for key in compose if not key.startswith("x-")} == {"services", "volumes", "networks"}
    for name, service in compose["services"].items():
        for key, value in service.items():
            assert isinstance(value, KEYS[key]), f"{name}: {key}"
        assert set(service["networks"]) <= compose["networks"].keys()
        assert set(service.get("depends_on", {})) <= compose["services"].keys()
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"} and "healthcheck" in compose["services"][other]
        for volume in service.get("volumes", []):
            source = re.sub(r"^\$\{\w+:-([^}]*)\}", r"\1", volume).split(":")[0]
            assert source.startswith("./") or source in compose["volumes"], volume
        assert all(isinstance(value, str) for value in service.get("environment", {}).values()), name
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service.get("user") != "root"
    assert "ports" not in compose["services"]["redis"]


def test_images_and_programs_exist(compose):
    dockerfile = (SERVICE / "Dockerfile").read_text()
    stages = dict(re.findall(r"^FROM (\S+) AS (\w+)$", dockerfile, re.M)).values()
    arguments = re.findall(r"^ARG (\w+)=", dockerfile, re.M)
    for service in compose["services"].values():
        assert service["build"]["target"] in stages
        assert set(service["build"].get("args", {})) <= set(arguments)
        for word in service.get("command", []) + service.get("entrypoint", []):
            if word.startswith("/service/"):
                assert (SERVICE / word.removeprefix("/service/")).exists()
    copied = re.search(r"^COPY (.*) /service/$", dockerfile, re.M)[1].split()
    assert sorted(copied) == sorted(path.name for path in SERVICE.glob("*.py"))


def test_the_stop_fits_the_grace_period(compose):
    for name in ("worker", "worker-gpu"):
        worker = compose["services"][name]
        assert int(worker["stop_grace_period"].removesuffix("s")) >= int(worker["environment"]["CJ2K_STOP_SECONDS"]) + 10


def test_a_gpu_is_reserved(compose):
    device, = compose["services"]["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia" and "gpu" in device["capabilities"]
    assert compose["services"]["worker-gpu"]["profiles"] == ["gpu"]


def test_the_readme_knows_every_setting_and_metric(compose):
    readme = (SERVICE / "README.md").read_text()
    read = set(re.findall(r'"(CJ2K_\w+)"', CODE))
    written = {name for service in compose["services"].values() for name in service.get("environment", {})}
    assert written <= read
    # The table has those of the code; others in the text are compose.yaml's own.
    table = re.findall(r"^\| `(CJ2K_\w+)` \|", readme, re.M)
    assert sorted(table) == sorted(read)
    own = set(re.findall(r"\$\{(CJ2K_\w+)", (SERVICE / "compose.yaml").read_text()))
    assert set(re.findall(r"CJ2K_\w+", readme)) - read == own - read
    metrics = set(re.findall(r'"(cj2k_\w+)"', (SERVICE / "metrics.py").read_text()))
    assert {name.removesuffix("_total") for name in re.findall(r"`(cj2k_\w+)", readme)} == metrics
    options = re.search(r"^OPTIONS.*?^}", (SERVICE / "job.py").read_text(), re.M | re.S)[0]
    for option in re.findall(r'^    "(\w+)"', options, re.M):
        assert f"`{option}`" in readme, option


def test_it_is_named_where_people_look():
    assert "(samples/service/README.md)" in (ROOT / "README.md").read_text()

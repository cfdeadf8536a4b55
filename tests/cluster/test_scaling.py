# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The tables of how a cluster scales are those of tests/bench/cluster.py, and its model is sound."""

import importlib.util
import json
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "tests/bench/results/2026-11-25_cluster_scaling.md"
BEGIN, END = "<!-- tables: begin, by tests/bench/cluster.py tables -->\n", "<!-- tables: end -->"


@pytest.fixture(name="bench")
def _bench():
    spec = importlib.util.spec_from_file_location("bench_cluster", ROOT / "tests/bench/cluster.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="measured")
def _measured():
    return json.loads(max((ROOT / "tests/bench/results").glob("*_cluster.json")).read_text(encoding="utf-8"))


def test_tables_are_those_of_the_script(bench, measured):
    """CJ2K_UPDATE_README=1 writes them anew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"{DOCUMENT} lacks the marks"
    expected = before + BEGIN + bench.tables(measured) + "\n" + END + after
    if os.environ.get("CJ2K_UPDATE_README") == "1":
        DOCUMENT.write_text(expected, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == expected


def test_model(bench, measured):
    """Costs by hand: fixed ones, one task after the other on a node, what is shared, and what one machine does."""
    m = {"frame_cpu_s": 16.0, "task_cpu_s": 2.0, "plan_cpu_s": 1.0, "count_cpu_s_per_frame": 0.0, "layout_cpu_s_per_frame": 0.25,
         "place_cpu_s_per_frame": 0.5, "place_cpu_s": 1.0, "join_cpu_s": 3.0, "join_cpu_s_per_segment": 0.5, "input_bytes_per_frame": 0.5e9,
         "output_bytes_per_frame": 1e6, "slurm": {"first_s": 4.0, "next_s": 1.0}}
    model = bench.Model(m)
    assert model.alone(100) == 100
    # 8 tasks on 4 nodes, 13 frames each at most, two after the other; each frame is encoded in 1 s and placed in 0.5 s.
    assert model.on_nodes(100, 4) == (1 + 2 * 4 + 3 + 8 * 0.5) + 100 * 0.25 + 2 * (2 + 1 + 2 * 1) + 2 * 13 * 1.5
    assert model.pays_from(4) is None, "the serial share alone takes more than half"
    assert model.pays_from(4, share=0.95) is not None
    assert bench.Model(m | {"output_bytes_per_frame": 1e9}).place == 3, "three passes over the link"
    # All nodes together: 0.5 GB read and 2 MB written for a frame, and 3 MB to place it.
    assert bench.Model(m, 1e8).shared(10, 64) == pytest.approx(10 * (5.02 + 0.03))
    assert bench.Model(m, 1e15).limit(64) == pytest.approx(model.limit(64))
    assert model.folder_for(4, 1.5) is not None and model.folder_for(4, 10) is None
    real = bench.Model(measured)
    times = [real.on_nodes(7200 * 24, nodes) for nodes in bench.NODES]
    assert times == sorted(times, reverse=True) and times[-1] > real.serial(7200 * 24)
    assert real.limit(16) >= 12 and real.limit(64) >= 35

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what junit.py reads from the files of CTest and pytest."""

import pytest

import junit

CTEST = """<testsuite name="x">
  <testcase name="unit" classname="unit" time="1" status="run"><system-out>all well</system-out></testcase>
  <testcase name="roundtrip" classname="roundtrip" time="1" status="run"><system-out>doctest
SKIPPED: grk_decompress is not installed
SKIPPED: no test picture a.ppm
  SKIPPED: within a line</system-out></testcase>
  <testcase name="api" classname="api" time="1" status="fail"><failure message=""/><system-out>
api.cc:7: ERROR: CHECK( a == b ) is NOT correct!
api.cc:9: ERROR: another
[doctest] Status: FAILURE!</system-out></testcase>
  <testcase name="gpu" classname="gpu" time="1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>some text
no CUDA device
</system-out></testcase>
  <testcase name="gone" classname="gone" time="0" status="notrun"><skipped message="Unable to find executable"/>
  </testcase>
  <testcase name="off" classname="off" time="0" status="disabled"/>
</testsuite>"""

PYTEST = """<testsuites><testsuite name="pytest">
  <testcase classname="test_a" name="test_one[x]" time="1"/>
  <testcase classname="test_a" name="test_two" time="1">
    <failure message="assert 1 == 2&#10;more">trace</failure></testcase>
  <testcase classname="test_a" name="test_three" time="1"><error message="fixture failed">trace</error></testcase>
  <testcase classname="test_a" name="test_four" time="1">
    <skipped type="pytest.skip" message="no GPU">x</skipped></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def step_of(tmp_path):
    def read(text, status=0):
        path = tmp_path / "results.xml"
        path.write_text(text)
        return junit.read_step("step", 1, status, path)
    return read


def test_ctest(step_of):
    step = step_of(CTEST)
    assert step.passed == 2
    assert step.failed == [("api", "api.cc:7: ERROR: CHECK( a == b ) is NOT correct!"),
                           ("gone", "Unable to find executable")]
    assert step.skipped == [("roundtrip", "grk_decompress is not installed"), ("roundtrip", "no test picture a.ppm"),
                            ("gpu", "no CUDA device"), ("off", "disabled")]


def test_pytest(step_of):
    step = step_of(PYTEST)
    assert step.passed == 1
    assert step.failed == [("test_a::test_two", "assert 1 == 2"), ("test_a::test_three", "fixture failed")]
    assert step.skipped == [("test_a::test_four", "no GPU")]


ALL_SKIPPED = """<testsuite><testcase name="gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""


@pytest.mark.parametrize("text", ["<testsuite/>", "<testsuite><testcase", "", ALL_SKIPPED],
                         ids=["empty", "cut short", "no text", "all skipped"])
def test_nothing_ran_is_a_failure(step_of, text):
    assert len(step_of(text).failed) == 1


def test_exit_status_without_a_failed_test_is_a_failure(step_of):
    assert step_of('<testsuite><testcase name="z"/></testsuite>', status=3).failed == [("step", "exit status 3")]


def test_no_file_is_a_failure(tmp_path):
    assert len(junit.read_step("step", 1, 0, tmp_path / "none.xml").failed) == 1


@pytest.mark.parametrize("verdict, counts", [("passed", (1, 0, 0)), ("failed", (0, 1, 0)), ("skipped", (0, 0, 1))])
def test_written_step_is_read_back(tmp_path, verdict, counts):
    path = tmp_path / "step.xml"
    junit.write(path, "step", 3, verdict, "a <reason>")
    step = junit.read_step("step", 3, 0, path)
    assert (step.passed, len(step.failed), len(step.skipped)) == counts
    assert step.failed + step.skipped in ([], [("step", "a <reason>")])


def test_summary(tmp_path, capsys):
    for name, text in (("a", CTEST), ("b", PYTEST)):
        (tmp_path / name).write_text(text)
    assert junit.summary([f"a:12:0:{tmp_path}/a", f"b:3:0:{tmp_path}/b"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "a 12 s 2 passed 2 failed 4 skipped".split()
    assert "skipped: a: gpu: no CUDA device" in lines
    assert "failed: b: test_a::test_two: assert 1 == 2" in lines
    assert lines[-1] == "3 passed, 4 failed, 5 skipped"


def test_summary_joins_tests_with_one_reason(tmp_path, capsys):
    skips = "".join(f'<testcase name="{name}"><skipped message="no GPU"/></testcase>' for name in "xy")
    (tmp_path / "a").write_text(f'<testsuite>{skips}<testcase name="z"/></testsuite>')
    assert junit.summary([f"a:1:0:{tmp_path}/a"]) == 0
    assert "skipped (2x): a: x, y: no GPU" in capsys.readouterr().out.splitlines()

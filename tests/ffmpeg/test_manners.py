# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""No option is ignored in silence, and messages are in the words of the options."""

import re

import pytest

from pictures import noise
from tools import bytes_per_frame

# --- warnings ---------------------------------------------------------------------------------------------------------

WARNED = [
    (("-bufsize", "50M", "-b:v", "10M"), "bufsize 50000000 is ignored"),
    (("-rc-lookahead", 20, "-b:v", "10M"), "rc-lookahead 20 is ignored"),
    (("-g", 25), "g 25 is ignored"),
    (("-bf", 2), "bf 2 is ignored"),
    (("-slices", 4), "slices 4 is ignored"),
    (("-stop", "pst"), "stop pst is ignored"),
    (("-stop", "psb", "-q:v", 3), "stop psb is ignored"),
    (("-stop", "bpi", "-lossless", 1), "stop bpi is ignored"),
]


@pytest.mark.parametrize("options, says", WARNED, ids=[says.split(" is")[0] for _, says in WARNED])
def test_ignored_option_is_named_once(ff, options, says):
    log = ff.encode(*options).log
    assert log.count(says) == 1 and len(log.strip().splitlines()) == 1, log
    without = ff.encode(*options, log="error").log
    assert not without.strip(), without


@pytest.mark.parametrize("options", [
    ("-g", 0), ("-g", 1), ("-bf", 0), ("-slices", 0), ("-stop", "exact"), ("-stop", "none"),
    ("-stop", "pst", "-b:v", "10M"), ("-stop", "psb", "-maxrate", "10M"), ("-stop", "bpi", "-layer_rates", "20,10"),
    ("-stop", "bpi", "-max_component_rate", "4M")], ids=lambda options: " ".join(map(str, options)))
def test_effective_option_is_not_warned_of(ff, options):
    log = ff.encode(*options).log
    assert not log.strip(), log


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option, bits, num_bytes, param", [
    ("b", 2000, 10, "target"), ("maxrate", 3000, 15, "max_frame"), ("max_component_rate", 200, 1, "max_component")])
def test_rate_that_is_too_low(ff, option, bits, num_bytes, param):
    """The message names the rate that is enough, and with that rate the encoder opens."""
    log = ff.check_refused(f"-{option}", bits, rate=24, says=[f"; {option} {bits} is {param}_bytes {num_bytes} at 24/1 fps"])
    assert len([line for line in log.splitlines() if line.startswith("[j2k_cuda @")]) == 1, log
    least_bytes, least_bits = map(int, re.search(r"not in \[(\d+), .*; at least (\d+) bit/s$", log, re.M).groups())
    assert least_bits == least_bytes * 8 * 24
    assert ff.packets(f"-{option}", least_bits, rate=24)
    ff.check_refused(f"-{option}", least_bits - 1, rate=24, says=[f"is {param}_bytes {least_bytes - 1} at 24/1 fps"])


def test_rate_beyond_64_bits(ff):
    ff.check_refused("-b:v", 9 * 10**18, rate="1/1000", says=["target_bytes 9223372036854775807 not in [0, 1099511627776]"])


def test_reservoir_below_zero(ff):
    ff.check_refused("-b:v", "1M", "-maxrate", "2M", "-bufsize", -1, says=["bufsize -1 is negative"])


@pytest.mark.parametrize("option, value, ours", [
    ("crf", 18, "cj2k-params target_psnr=45"), ("qp", 20, "q is the quantiser step"), ("preset", "veryslow", "effort is the time"),
    ("tune", "ssim", "visual is the tune")])
def test_option_of_other_encoders_names_ours(ff, option, value, ours):
    log = ff.check_refused(f"-{option}", value, says=[f"{option} {value} is not for this encoder: ", ours])
    assert len([line for line in log.splitlines() if line.startswith("[j2k_cuda @")]) == 1, log


def test_tune_psnr_is_mse(ff):
    assert ff.packets("-tune", "psnr", "-b:v", "4M") == ff.packets("-tune", "mse", "-b:v", "4M")
    assert ff.packets("-tune", "visual", "-b:v", "4M") != ff.packets("-tune", "mse", "-b:v", "4M")


def test_target_psnr(ff):
    """The summary has what is measured, and counts the frames that a cap keeps below."""
    reached = ff.encode("-cj2k-params", "target_psnr=40", log="info").log
    measured = [float(text) for text in re.findall(r"PSNR ([\d.]+) dB, ([\d.]+) dB at worst", reached)[0]]
    assert all(40 <= db < 40.5 for db in measured) and "measured" in reached and "below" not in reached, reached
    capped = ff.encode("-cj2k-params", "target_psnr=70", "-maxrate", "1M", log="info").log
    assert re.search(r"measured; \d+ below target_psnr 70;", capped), capped


def test_parameter_of_a_message_has_its_option(ff):
    """Without a comment, the padding can exceed what was asked for by 6 bytes."""
    ff.check_refused("-comment", "", "-minrate", "8M", "-maxrate", "8M", says=[
        "min_frame_bytes 40000 not in [0, 39994]", "; minrate 8000000 is min_frame_bytes 40000 at 25/1 fps"])


def test_bytes_of_cj2k_params_keep_their_name(ff):
    ff.check_refused("-b:v", "10M", "-cj2k-params", "target_bytes=10", says=["target_bytes 10 not in ["])


@pytest.mark.parametrize("options, says", [
    (("-b:v", "250M"), "target_bytes (which must be 0); b 250000000 is target_bytes 1250000 at 25/1 fps"),
    (("-maxrate", "1M"), "max_frame_bytes (which must be 0); maxrate 1000000 is "), (("-q:v", 1), "quality"),
    (("-max_component_rate", "1M"), "max_component_bytes (which must be 0); max_component_rate 1000000 is ")])
def test_what_lossless_contradicts(ff, options, says):
    ff.check_refused("-lossless", 1, *options, says=[f"lossless 1 excludes {says}"])
    ff.check_refused("-cj2k-params", "lossless=1", *options, says=[f"lossless 1 excludes {says}"])


@pytest.mark.parametrize("options, says", [
    (("-minrate", "20M", "-maxrate", "10M"), "; minrate 20000000 is min_frame_bytes 100000 at 25/1 fps"),
    (("-minrate", "20M", "-b:v", "10M", "-maxrate", "30M"), "; minrate 20000000 is min_frame_bytes 100000 at 25/1 fps")])
def test_minrate_above_the_cap(ff, options, says):
    ff.check_refused(*options, says=[says])


# --- a constant rate --------------------------------------------------------------------------------------------------


def test_minrate_pads_every_frame(ff):
    black = [[[0] * (320 * 240)] * 3] * 2
    least = bytes_per_frame(8000000, 25)
    for data in ff.packets("-minrate", "8M", width=320, height=240, frames=black):
        assert least <= len(data) <= least + 4, len(data)


def test_constant_rate(ff):
    """minrate = maxrate: a dark frame and a busy one have the same bytes. bufsize is named as ignored."""
    kw = {"width": 320, "height": 240, "frames": [[[0] * (320 * 240)] * 3, noise("rgb24", 320, 240, 1)[0]]}
    encoded = ff.encode("-b:v", "10M", "-minrate", "10M", "-maxrate", "10M", "-bufsize", "10M", **kw)
    assert [len(data) for data in encoded.packets] == [bytes_per_frame(10000000, 25)] * 2
    assert "bufsize 10000000 is ignored" in encoded.log


# --- unknown names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, says", [
    (("-cj2k-params", "levls=3"), 'unknown parameter "levls"; did you mean levels?'),
    (("-cj2k-params", "target=3"), 'unknown parameter "target"; did you mean target_bytes?'),
    (("-cj2k-params", "progression=rpc"), "did you mean rpcl?"),
    (("-cj2k-params", "cblk_style=bypass+segsim"), "did you mean segsym?"),
    (("-device", "cdua"), "did you mean cuda?")])
def test_nearest_name(ff, options, says):
    ff.check_refused(*options, says=[says])


@pytest.mark.parametrize("options", [("-cj2k-params", "zzz=1"), ("-device", "toaster")])
def test_no_name_is_near(ff, options):
    assert "did you mean" not in ff.check_refused(*options, says=[])


# --- the list of options ----------------------------------------------------------------------------------------------


def test_every_option_and_value_has_help(ff):
    listed = re.findall(r"^ +(-?\S+) +(?:<\w+>|-?\d+|) *[E.][D.][F.][V.][A.][S.][X.][R.][B.][T.][P.]? ?(.*)$",
                        ff.encoder_help, re.M)
    assert len(listed) > 70, ff.encoder_help
    assert not [name for name, text in listed if len(re.sub(r"\(.*?\)", "", text).strip()) < 3]

"""Which version two programs speak, and what is said where there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.versions import (
    SPOKEN,
    Versions,
    versions_in,
    versions_of_refusal,
    which_to_update,
)

ranges = st.tuples(st.integers(0, 999), st.integers(0, 999)).map(sorted)


@given(ranges, ranges)
def test_both_sides_choose_the_same_version(one, other):
    """The newest that both know."""
    device, server = Versions(*one), Versions(*other)
    both = set(range(one[0], one[1] + 1)) & set(range(other[0], other[1] + 1))

    assert device.common(server) == server.common(device) == max(both, default=None)
    assert versions_in(str(device)) == device


@pytest.mark.parametrize(
    "header", [None, "", "x", "4-3", "3-", "-3", "3-4-5", "٣", "9999"]
)
def test_a_header_that_names_none_is_none(header):
    assert versions_in(header) is None


def test_a_server_of_before_ranges_is_understood():
    detail = "this server speaks version 2 of the protocol"
    assert versions_of_refusal(None, detail) == Versions(2, 2)
    assert versions_of_refusal("4-5", detail) == Versions(4, 5)
    assert versions_of_refusal(None, "no") is None


def test_the_older_one_is_to_be_updated():
    newer, older = Versions(4, 5), Versions(2, 2)
    assert which_to_update(SPOKEN, newer).endswith("update SpecSteer on the device")
    assert which_to_update(SPOKEN, older).endswith("update SpecSteer on the server")

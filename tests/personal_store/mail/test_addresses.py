"""Addresses out of headers: a stranger's name may hold anybody's address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store.mail.mail import address_in, addresses

ME = "sam@example.com"
OTHER = "shop@forms.example"


@pytest.mark.parametrize(
    "header",
    [
        f"{ME} <{OTHER}>",
        f'"{ME}" <{OTHER}>',
        f"'{ME}' <{OTHER}>",
        f'"Sam <{ME}>" <{OTHER}>',
        f"Sam <{ME}> <{OTHER}>",
        f"Sam ({ME}) <{OTHER}>",
        f"{OTHER} ({ME})",
        f"=?utf-8?q?sam=40example.com?= <{OTHER}>",
        f"=?utf-8?q?sam=40example.com_=3C{OTHER.replace('@', '=40')}=3E?=",
        f"=?utf-8?Q?Sam_<{ME}>?= <{OTHER}>",
        f"Form of {ME}: {ME} <{OTHER}>",
        f"Sam {ME} <{OTHER}",
        f'"Sam \\" {ME}" < {OTHER} >',
        f"<@relay.example,@{ME.partition('@')[2]}:{OTHER}>",
    ],
)
def test_only_the_address_in_angle_brackets_counts(header):
    assert [address for _, address in addresses([header])] == [OTHER]


@pytest.mark.parametrize(
    "header",
    [f"{ME} <>", f"{ME} </O=EX/CN=SHOP>", "Sam:;", "Sam", "@example.org",
     "<@example.org>", "Ana <@example.org>", "a@", "@",
     "=?UTF-8?Q?Ana?= @example.org"],
)  # fmt: skip
def test_a_name_or_half_an_address_is_none(header):
    assert addresses([header]) == []
    assert addresses([f"{header}, {OTHER}"])[-1:] == [("", OTHER)]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (f"Sam @ Home <{ME}>", [("Sam @ Home", ME)]),
        (f"{ME} (Sam Lee)", [("Sam Lee", ME)]),
        (f"mailto:{ME}", [("", ME)]),
        (f"Lee, Sam <{ME}>", [("Sam", ME)]),
        (f'"Lee, Sam" <{ME.upper()}>', [("Lee, Sam", ME)]),
        (f"Sam :( <{ME}>", [("(", ME)]),
        ('"sam lee"@example.com', [("", '"sam lee"@example.com')]),
        ("sam@[192.0.2.1]", [("", "sam@[192.0.2.1]")]),
        (f'Crew: Ann <ann@x.example>, "B, C" <{OTHER}>; {ME}',
         [("Ann", "ann@x.example"), ("B, C", OTHER), ("", ME)]),
        (f"=?utf-8?b?QW5hIEzDs3Bleg==?= <{OTHER}>", [("Ana López", OTHER)]),
    ],
)  # fmt: skip
def test_names_and_addresses(header, found):
    assert addresses([header]) == found


def test_what_somebody_gives_as_an_address():
    assert address_in(f"Sam <{ME}>") == address_in(ME.upper()) == ME
    assert address_in("Sam @ Home") == address_in("whatsapp:sam") == ""


@given(st.text(st.sampled_from('ab@.<>(),;:"\\ =?'), max_size=60))
def test_no_name_becomes_the_sender(name):
    """Whatever stands before it, and quoted as the standard says."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')

    assert [one for _, one in addresses([f'"{quoted}" <{OTHER}>'])][-1:] == [OTHER]

"""Comparison with the messages that a mail answers."""

import pytest

from personal_store import Store, import_source
from personal_store.cleaning.cleaning import (
    COMPARED,
    VERSION,
    clean_mail,
    drop_repeated,
)
from personal_store.lifecycle.cleaning import reclean
from personal_store.mail.mail import Mail

PARENT = (
    "Hi Uma,\n\nwill you come on Sunday? We start at three in the garden.\n"
    "Bring whatever you like to eat.\n\nOla"
)
OWN = "Hi Ola,\n\nyes, and I bring the cake."
QUOTED = (
    "Hi Uma,\nwill you come on Sunday? We start at three in the garden.\n"
    "Bring whatever you like to eat."
)

ANSWER = """From uma@example.org Tue Mar 12 10:15:00 2024
From: uma@example.org
To: ola@example.org
Date: Tue, 12 Mar 2024 11:15:00 +0100
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>"""
FIRST = """From ola@example.org Tue Mar 12 09:15:00 2024
From: ola@example.org
To: uma@example.org
Date: Tue, 12 Mar 2024 10:15:00 +0100
Message-ID: <1@example.org>"""


def test_a_run_that_the_parent_holds_goes_with_its_short_lines():
    mail = Mail({}, f"{OWN}\n\n{QUOTED}\n")

    assert clean_mail(mail, [PARENT]).text == OWN
    assert clean_mail(mail, [PARENT]).trimmed
    assert "garden" in clean_mail(mail).text


@pytest.mark.parametrize(
    "line",
    [
        "Hi Uma,",
        "Ola",
        "Bring whatever you like to eat.",
        "Bring whatever!",
        "three in the garden is perfect for us.",
    ],
)
def test_a_phrase_of_the_parent_may_be_used(line):
    """One short line, or words inside another line, are nobody's."""
    assert drop_repeated([line], [PARENT]) == [line]


def test_a_run_goes_on_over_blank_lines():
    assert drop_repeated(["Yes.", "", *PARENT.split("\n")], [PARENT]) == ["Yes.", ""]


@pytest.fixture
def store(tmp_path):
    """A store that read an answer before the message it answers."""
    path = tmp_path / "sent.mbox"
    path.write_text(f"{ANSWER}\n\n{OWN}\n\n{QUOTED}\n\n{FIRST}\n\n{PARENT}\n\n")
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "mbox", path, me=["uma@example.org"])
        yield store


def own(store):
    return store.db.execute(
        "SELECT body, cleaning, trimmed FROM record WHERE sender = 'uma@example.org'"
    ).fetchone()


def test_reclean_compares_too(store):
    """And lifts texts of older rules to the present ones."""
    mine = "sender = 'uma@example.org'"
    older = f"UPDATE record SET cleaning = ?, body = 'old' WHERE {mine}"
    store.db.execute(older, [VERSION - 1])

    reclean(store.db)

    assert own(store) == (OWN, COMPARED, 1)

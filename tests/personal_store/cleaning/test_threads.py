"""Comparison with the messages that a mail answers."""

from personal_store.cleaning.cleaning import Cleaned, clean_mail, drop_repeated
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


def test_a_run_that_the_parent_holds_goes_with_its_short_lines():
    mail = Mail({}, f"{OWN}\n\n{QUOTED}\n")

    assert clean_mail(mail, [PARENT]) == Cleaned(OWN, True)
    assert "garden" in clean_mail(mail).text


def test_a_phrase_of_the_parent_may_be_used():
    """One short line, or words inside another line, are nobody's; a run goes on over
    blank lines."""
    for line in (
        "Hi Uma,",
        "Ola",
        "Bring whatever you like to eat.",
        "Bring whatever!",
        "three in the garden is perfect for us.",
    ):
        assert drop_repeated([line], [PARENT]) == [line]
    assert drop_repeated(["Yes.", "", *PARENT.split("\n")], [PARENT]) == ["Yes.", ""]

"""What a recipient is called, whatever the header of a mail makes of the name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_app.retrieval.naming import called, first_name, parted, readdressed
from personal_store.text.greetings import greeted


@pytest.mark.parametrize(
    ("recipient", "name", "address"),
    [
        ("Ben", "Ben", ""),
        ("Carr, Ines <Ines@Mill.example>", "Carr, Ines", "ines@mill.example"),
        ('"Carr, Ines" <ines@mill.example>', "Carr, Ines", "ines@mill.example"),
        ("ines@mill.example", "", "ines@mill.example"),
        ("boss@firm.example <other@evil.example>", "", "other@evil.example"),
        ('"a@b.example" <c@d.example>', "", "c@d.example"),
        ("=?utf-8?q?J=C3=BCrgen?= <j@x.example>", "Jürgen", "j@x.example"),
        ("Ben <3", "Ben <3", ""),
        ("", "", ""),
    ],
)
def test_a_recipient_has_a_name_and_an_address(recipient, name, address):
    """The one in angle brackets: a display name may hold any other."""
    assert parted(recipient) == (name, address)


@pytest.mark.parametrize(
    ("recipient", "name"),
    [
        ("Ines Carr (Mill Lane Office)", "Ines"),
        ("Carr, Ines", "Ines"),
        ("Carr, Ines, PhD", "Ines"),
        ("Ines Carr, MD", "Ines"),
        ("INES CARR", "Ines"),
        ("DR. INES CARR <i@mill.example>", "Ines"),
        ("CARR Ines", "Ines"),
        ("ines carr", "Ines"),
        ("Prof. Dr. Anna-Lena Vogt", "Anna-Lena"),
        ("Mr Joost van der Meer", "Joost"),
        ("Maria de la Cruz", "Maria"),
        ("Ms Carr", "Ms Carr"),
        ("Mr. J. Carr", "Mr. Carr"),
        ("Ines Carr | Mill Lane", "Ines"),
        ("Ines Carr via Lists", "Ines"),
        ("ines.carr@mill.example", "Ines"),
        ("ines_carr42@mill.example", "Ines"),
        ("tomas@mill.example", "Tomas"),
        ("tcarr@mill.example", ""),
        ("i.carr@mill.example", ""),
        ("office@mill.example", ""),
        ("no-reply@mill.example", ""),
        ("Mill Lane School <office@mill.example>", "Mill Lane School"),
        ("The Mill", "The Mill"),
        ("Ana and Ben", "Ana and Ben"),
        ("Aunt Vera", "Aunt Vera"),
        ("佐藤 花子", "佐藤 花子"),
        ("", ""),
    ],
)
def test_the_first_name_is_what_a_person_would_say(recipient, name):
    assert first_name(recipient) == name


@pytest.mark.parametrize(
    ("text", "recipient", "name"),
    [
        ("Hullo Ines,\n\nthe tea is cold.", "Carr, Ines", "Ines"),
        ("Dear Ms Carr,\n\nthe tea is cold.", "Ines Carr", "Ms Carr"),
        ("Sehr geehrte Frau Dr. Vogt,\n\ndanke.", "Anna Vogt", "Frau Dr. Vogt"),
        ("Ines, the tea that you sent me last week is cold.", "Ines Carr", "Ines"),
        ("Good morning,\n\nthe tea is cold.", "Ines Carr", ""),
        ("The tea is cold, and Ines knows it.", "Ines Carr", ""),
        ("Morning all,\n\ntea.", "Ines Carr", ""),
        ("", "Ines Carr", ""),
    ],
)
def test_a_greeting_tells_the_name(text, recipient, name):
    assert greeted(text, recipient)[0] == name


def test_letters_tell_what_somebody_is_called():
    """Most of them; a name that the header lacks has to come twice."""
    formal, close = "Dear Ms Carr,\n\nyes.", "Nessie!\n\nyes."
    assert called("Ines Carr", [formal, formal, "Ines,\n\nno."]) == "Ms Carr"
    assert called("Ines Carr", [close, close]) == "Nessie"
    assert called("Ines Carr", ["Understood,\n\nit is done."]) == "Ines"
    assert called("Ines Carr") == "Ines"


def test_a_letter_to_somebody_else_greets_the_recipient():
    text = "Hullo Ines,\n\nInes, the tea is cold."
    assert readdressed(text, "Ines Carr", "Tom") == text.replace("Ines", "Tom", 1)
    assert readdressed(text, "Ines Carr", "") == "Hullo,\n\nInes, the tea is cold."
    assert readdressed("Ines,\n\nyes.", "Ines", "") == "yes."
    assert readdressed("Dear Ines,\n\nyes.", "Ines", "") == "yes."
    assert readdressed("It is cold.", "Ines", "Tom") == "It is cold."


@given(st.text(), st.text())
def test_whatever_a_header_holds_no_address_is_a_name(recipient, text):
    name, _ = parted(f"{recipient} <a@b.example>")
    assert "@" not in name
    assert "\n" not in called(recipient, [text])
    readdressed(text, recipient, "Tom")

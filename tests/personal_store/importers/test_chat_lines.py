"""Lines of WhatsApp chats as phones of several languages write them."""

import pytest

from personal_store.files import of_file
from personal_store.importers.whatsapp import Chat, is_chat, messages, own_words
from personal_store.text.dates import parse_date

NOON = "2023-02-13 12:05"


def read(tmp_path, text):
    path = tmp_path / "chat.txt"
    path.write_text(text, encoding="utf-8")
    file = of_file(path)
    return list(messages(file, Chat.of(file).order))


@pytest.mark.parametrize(
    "line",
    [
        "[13.02.23, 12:05:09] Ana: Hello there",
        "[2/13/23, 12:05:09 PM] Ana: Hello there",
        "\u200e[2023-02-13, 12:05:09] Ana: Hello there",
        "[13.2.2023 klo 12.05.09] Ana: Hello there",
        "[13/2/23 12:05:09 p. m.] Ana: Hello there",
        "13.02.23, 12:05 - Ana: Hello there",
        "13/2/2023, 12:05 p. m. - Ana: Hello there",
        "13-02-2023 12:05 - Ana: Hello there",
        "2023-02-13, 12:05 p.m. - Ana: Hello there",
        "13.02.2023, 12:05 – Ana: Hello there",
        "[13.02.23, 12:05:09] ~\u202fAna: Hello there",
    ],
)
def test_dates_of_many_phones(tmp_path, line):
    (message,) = read(tmp_path, line)

    assert (message.name, message.text) == ("Ana", "Hello there")
    assert message.sent_at == parse_date(NOON)
    assert is_chat(line.encode())


def test_the_order_of_unclear_dates_is_the_one_that_grows(tmp_path):
    """1 May, 2 April would go back; 5 January, 4 February goes on."""
    text = "01/05/23, 10:00 - Ana: one\n02/04/23, 10:00 - Ana: two\n"

    first, second = read(tmp_path, text)

    assert first.sent_at == parse_date("2023-01-05 10:00")
    assert second.sent_at == parse_date("2023-02-04 10:00")


def test_a_longer_chat_has_the_same_stamps(tmp_path):
    """Even where only the longer one tells which number is the day."""
    short = "01/05/23, 10:00 - Ana: one\n"

    (before,) = read(tmp_path, short)
    after, _ = read(tmp_path, short + "02/14/23, 10:00 - Ana: two\n")

    assert before.sent_at != after.sent_at
    assert before.stamp == after.stamp


def test_several_lines_are_one_message(tmp_path):
    text = (
        "13.02.23, 12:05 - Ana: One: two\n\nthree 13.02.23, 12:05 - four\n"
        "13.02.23, 12:06 - Ana hat die Gruppe erstellt\n"
        "13.02.23, 12:07 - Ben: five\n"
    )

    first, notice, last = read(tmp_path, text)

    assert first.text == "One: two\n\nthree 13.02.23, 12:05 - four"
    assert (notice.name, last.name) == ("", "Ben")
    assert last.position == len(text.encode())


@pytest.mark.parametrize(
    ("written", "own"),
    [
        ("\u200eimage omitted", ""),
        ("<Media omitted>", ""),
        ("<Medien ausgeschlossen>", ""),
        ("<Medien ausgeschlossen>\nDer neue Kiel", "Der neue Kiel"),
        ("IMG-1.jpg (Datei angehängt)\nDer neue Kiel", "Der neue Kiel"),
        ("\u200eIMG-1.jpg (file attached)", ""),
        ("\u200e<attached: 1.jpg>", ""),
        ("The new keel \u200e<attached: 1.jpg>", "The new keel"),
        ("The new keel \u200eimage omitted", "The new keel"),
        ("קיל חדש \u200ekeel", "קיל חדש keel"),
        (
            "SONDAGE\u00a0:\nQuel jour\u00a0?\nOPTION\u00a0: lundi (1 vote)\n"
            "OPTION\u00a0: mardi (0 vote)",
            "Quel jour\u00a0?",
        ),
        ("It floats <This message was edited>", "It floats"),
        ("It floats \u200e<Diese Nachricht wurde bearbeitet>", "It floats"),
        ("This message was deleted", ""),
        ("\u200eDu hast diese Nachricht gelöscht.", ""),
        ("I <3 boats", "I <3 boats"),
        ("so 1 < 2 and 3 > 2", "so 1 < 2 and 3 > 2"),
        ("see (the old one)", "see (the old one)"),
    ],
)
def test_what_the_program_wrote_is_cut(written, own):
    assert own_words(written) == own


@pytest.mark.parametrize(
    "text", ["", "Dear Ana,\n12:05 is fine: see you.\n", "2023-02-13 a diary\n"]
)
def test_other_texts_are_no_chats(text):
    assert not is_chat(text.encode())

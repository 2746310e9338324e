"""Shapes of mails that other projects' fixtures taught, in words of our own."""

import pytest

from personal_store.cleaning.cleaning import clean_text

OWN = "The boat leaves at six.\n\nBest,\nNils"
SHORT = "The boat leaves at six."


@pytest.mark.parametrize(
    "below",
    [
        "On Mon, 4 Mar 2024 at 18:05, Harbour Desk wrote:\n\nWill you come?",
        "Le lun. 4 mars 2024, 18:05, Bureau du port  a écrit :\n\n    Viendrez-vous ?",
        "hafenamt  schrieb am Mo. 4. März 2024 um 18:05:\n\n    Kommen Sie?",
        "Puerto Norte escribió el lun. 4 mar. 2024 a las 18:05:\n\n¿Viene usted?",
        "Am 04.03.24 um 18:05 schrieb Hafenamt - Nord\nVon: Hafenamt\n"
        "Datum: 4. März 2024\n\nKommen Sie?",
        'On 04/03/2024 at 6:05 PM, "Harbour"  wrote:Boats and\nberths, all in one',
        "2024/3/4 Harbour Desk <\ndesk@example.org>\n\nWill you come?",
    ],
)
def test_an_introduction_right_below_ones_own_words_goes(below):
    """Programs leave no blank line above it where the writer left none."""
    assert clean_text(f"{SHORT}\n{below}").text == SHORT
    assert clean_text(f"{OWN}\n{below}").text == OWN


@pytest.mark.parametrize(
    "own",
    [
        "We talked for long.\nOn 3 May 2024 at 14:30 the clerk wrote:\n\nAll is well.",
        "Es steht im Buch.\nAm 3. Mai 2024 um 14:30 schrieb er:\n\nNichts Neues.",
        "So it went.\nOn 3 May 2024 at 14:30 she wrote:\n\nNever again.",
        "I fly so:\n\nFrom: Bergen\nTo: Oslo\nDate: 3.5.2024\n\nBest,\nNils",
    ],
)
def test_a_sentence_with_a_date_and_a_verb_stays(own):
    assert clean_text(own).text == own


def test_the_name_between_a_tagline_and_a_text_of_others_goes():
    """Some phones write no date and no address there."""
    quoted = "Harbour Desk wrote:\n\nWill you come?"
    helpdesk = "Harbour Desk wrote:\n\n-- REPLY ABOVE THIS LINE --\n\nA new task."

    assert clean_text(f"{SHORT}\n\nSent from my phone\n\n{quoted}").text == SHORT
    assert clean_text(f"{SHORT}\n\n{helpdesk}").text == SHORT


def test_a_block_of_headers_begins_with_its_date():
    """And may have a blank line between any two of them."""
    block = (
        "**Gesendet:** Montag, 4. März 2024 um 18:05\n\n"
        '**Von:** "Hafenamt" <amt@example.org>\n\n**An:** Nils <n@example.org>\n\n'
        "**Betreff:** Ihr Boot\n\nKommen Sie?"
    )

    assert clean_text(f"{SHORT}\n\n{block}").text == SHORT


@pytest.mark.parametrize(
    "banner",
    [
        "CAUTION: This message came from outside the harbour. Do not open attachments "
        "or click links unless you know the sender.",
        "Achtung: Diese E-Mail kommt von einem externen Absender. Klicken Sie auf "
        "keine Links und öffnen Sie keine Anhänge.",
        "ATTENTION : ce courriel vient de l'extérieur. Ne cliquez sur aucun lien et "
        "n'ouvrez pas les pièces jointes.",
        'This is a follow-up to your previous request #4711 "Berth for June"',
        "Dies ist eine Folgeanfrage zu Ihrer vorherigen Anfrage #4711 „Liegeplatz“",
    ],
)
def test_what_a_server_puts_above_a_message_goes(banner):
    assert clean_text(f"{banner}\n\n{OWN}").text == OWN
    assert clean_text(banner).text == banner


@pytest.mark.parametrize(
    "first",
    [
        "Caution: the external stairs are wet, and I cannot open the link to the plan.",
        "This is a follow-up to ticket #4711 from Monday.",
        "Attention, the external door sticks.",
    ],
)
def test_a_warning_of_ones_own_stays(first):
    assert clean_text(f"{first}\n\n{OWN}").text == f"{first}\n\n{OWN}"


@pytest.mark.parametrize(
    "below",
    [
        "\n\n* * *\n\nFair winds always",
        "\n\n____________________\n\nDr. Nils Dahl\nNorway",
        "\n\n**. . . . . . . .**\n\n![Port](https://img.example.org/port.png)\n\n"
        "Port of Bergen supports safe sailing.",
        "\n\n**Nils Dahl**,\nHarbour Master\n\nSail with us! Berths are cheap in May.",
        "\nHarbour Master\n\nport of bergen, pier 7",
    ],
)
def test_a_signature_below_a_goodbye_goes(below):
    assert clean_text(OWN + below).text == OWN


@pytest.mark.parametrize(
    "below",
    [
        "\n\n---\n\n1. Ropes\n2. Fenders",
        "\n\n---\n\nYou find the key below the mat.",
        "\n\n---\n\nShopping for the trip:\nBread\nButter",
        "\n\nNils Dahl sang at the fair, by the way.",
    ],
)
def test_writing_below_a_goodbye_stays(below):
    assert clean_text(OWN + below).text == OWN + below


def test_a_name_in_full_above_contacts_begins_a_signature():
    full = "Dr. Nils Dahl\nN-5003 Bergen, Havnegata 1\nTel: +47-55-010-023"

    assert clean_text(f"{SHORT}\n\nNils\n\n{full}").text == f"{SHORT}\n\nNils"


def test_a_card_at_the_end_goes():
    card = (
        "*Nils Dahl* | *Harbour Master*\n*Call +47 22 55 01 23*\n\n[image: port]\n\n"
        "Havnegata 1, 5003 Bergen\n\n*ORG NO 999000111*"
    )

    assert clean_text(f"{SHORT}\n\n{card}").text == SHORT
    assert clean_text(f"Call him:\n\n{card}").text == f"Call him:\n\n{card}"


def test_a_motto_in_quotation_marks_belongs_to_the_signature():
    """Also where a program puts a blank line between any two lines."""
    lines = [*OWN.split("\n"), "Harbour Master", "www.port.example", '"Fair winds!"']
    spaced = "\n\n".join(line for line in lines if line)

    assert clean_text("\n".join(lines)).text == OWN
    assert clean_text(spaced).text == OWN.replace("\nNils", "\n\nNils")


def test_bold_goodbyes_are_goodbyes():
    body = f"{SHORT}\n\n*Best regards, Nils Dahl*"

    assert clean_text(
        f"{body}\n\n*Tel.: +47 22 55 01 23* *Web:* port.example"
    ).text == (body)


def test_tags_in_a_plain_text_hide_no_bar():
    heading = (
        "<div>-------- Original message --------</div><div>From: Ann <a@example.org> "
        "</div><div>Date:04/03/2024  18:05  (GMT+01:00) </div><div>To: Nils </div>"
    )

    assert clean_text(f"{OWN}\n\n{heading}Hello,\n\nWill you come?").text == OWN


def test_a_date_alone_introduces_a_quote():
    stamp = "On Mon, 4 Mar 2024 18:05:10 +0100"

    assert clean_text(f"{SHORT}\n\n{stamp}\n\n> Will you?\n\nYes.").text == (
        f"{SHORT}\n\nYes."
    )
    assert clean_text(f"{stamp}\n\nwe sailed.").text == f"{stamp}\n\nwe sailed."


def test_a_slogan_among_contacts_goes():
    logo = "[cid:image001.png@01CE92A6.EC495B60]<https://port.example/>"
    contacts = "Phone 55 01 23\nFax 55 01 24\nE-mail nils@port.example"
    reached = "Tel: +47 22 55 01 23\nFax: +47 22 55 01 24\nnils@port.example"
    slogan = "Port of Bergen. Together towards the sea."

    assert clean_text(f"{OWN}\nPier 7\n\n{contacts}\n\n{slogan}\n{logo}").text == OWN
    assert clean_text(f"{OWN}\n\n{reached}\n\n{slogan}").text == OWN


def test_who_is_spoken_to_below_contacts_is_read():
    said = (
        "Tel: +47 22 55 01 23\nFax: +47 22 55 01 24\nnils@port.example\n\nCall me soon."
    )

    assert clean_text(f"{OWN}\n\n{said}").text == f"{OWN}\n\n{said}"


def test_a_dash_alone_may_stand_in_a_text():
    body = "He said what it means for us today\n–\nand in the future.\n\nWe go on."

    assert clean_text(body).text == body
    assert clean_text(f"{OWN}\n–\nNils Dahl").text == OWN


def test_a_sentence_may_begin_like_a_header():
    block = (
        "from: the beginning on, it was a good idea.\nsent: you a mail about it.\n"
        "to: sum up what was said, let us go on.\nsubject: to change, of course."
    )

    assert clean_text(f"{SHORT}\n\n{block}").text == f"{SHORT}\n\n{block}"


def test_what_a_relay_adds_goes():
    relay = (
        "By replying to this message or using a relay address, you agree that it will "
        "be processed under the Policy <https://relay.example/policy>."
    )

    assert clean_text(f"{SHORT}\n\n> Will you?\n\n{relay}").text == SHORT


def test_an_introduction_may_lose_its_colon():
    """To a line of its own, behind a bracket of its own."""
    intro = "2024-03-04 18:05 GMT+01:00 Ann <ann@example.org\n>\n:\n\n> Will you?"

    assert clean_text(f"{OWN}\n\n\n{intro}").text == OWN

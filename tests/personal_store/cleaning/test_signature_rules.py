"""What stands below a message: sign-off, name and postscript stay, the rest goes."""

import pytest

from personal_store.cleaning.cleaning import clean_text

OWN = "The boat leaves at six.\n\nBest,\nNils"
CONTACTS = "Harbour Office | Bergen\nTel: +47 22 55 01 23\nwww.harbour.example"
NOTICE = (
    "This e-mail and any attachments are confidential and intended solely for the "
    "addressee. If you received it in error, please delete it."
)
UNLISTED = (
    "Uveďte prosím: obsah je důvěrný a určený jen adresátovi. Jestliže vám přišel "
    "omylem, dejte vědět odesílateli a smažte jej i s přílohami; je zakázáno jej šířit."
)


@pytest.mark.parametrize(
    "below",
    [
        f"\n{CONTACTS}",
        "\nHarbour Master\nPort of Bergen",
        "\n\n-- \nNils Dahl\nPort of Bergen",
        "\n\n--\nNils",
        "\n\n—\nNils Dahl",
        f"\n\n—————\nNils Dahl\n{CONTACTS}",
        "\n\nSent from my iPhone",
        "\nSent from my iPhone",
        "\n\nSent from my iPhone\nSent from my iPad",
        "\n\nSent from my mobile, please excuse any typos",
        "\n\nOdeslíláno: poslano s mog Samsunga",
        "\n\nHanki Outlook for Android<https://aka.ms/x>",
        f"\n\n{NOTICE}",
        f"\n\n{CONTACTS}\n\n{NOTICE}\n\nPort of Bergen AS, 5003 Bergen",
        f"\n\n{UNLISTED}",
        "\n\nVirus-free. www.avast.com",
        f"\n\n{'_' * 40}\nboats mailing list\nhttps://lists.example.org/listinfo/boats",
        "\n\nTo unsubscribe visit https://lists.example.org/leave",
        "\n\nPlease consider the environment before printing this.",
    ],
)
def test_what_is_no_writing_goes(below):
    assert clean_text(f"{OWN}{below}\n").text == OWN


@pytest.mark.parametrize(
    "body",
    [
        OWN,
        "The jars arrived.\n\nYours in a hurry,\nTess",
        "The jars arrived.\n\nYours in a hurry,\nTess Marlow",
        "The jars arrived.\n\nLove from the hill\nTess",
        "Das Paket ist da.\n\nLiebe Grüße aus Bergen\nAnna",
        "The jars arrived.\n\nBest, in haste,\nsam",
        "Thanks!\n\nI will read it tonight and send notes.",
        "See you.\n\nThanks\nAda\n\nOne more thing: the title is too long.",
        "Ciao P.,\n\nthe report is done.\n\nTarek",
        "Спасибо, получил.\nВадим",
        "Best,\nNils\n\nCall me at +47 22 55 01 23 first.\nThe door is open until six.",
        "It says below:\n\nSent from my iPhone\nand I cannot turn that off.",
        "First.\n\nThe attachment of yesterday was the wrong one, so please throw it "
        "away and take this one instead; it has the new figures for spring and for "
        "summer, and the two tables that were missing.",
        "Budget\n------\nWe agreed on 4,000.\n\n----\n\nNext meeting: 12 June.",
        "Please delete the attachment, I sent it in error to the wrong recipient.",
        "You can reach the plumber at +49 30 5550 1234 until six.",
        "I lost my iPhone and sent the Samsung back. What now?",
        "Here is the order:\n\nTom first\nThen Mia\nThen everybody else",
    ],
)
def test_writing_stays(body):
    assert clean_text(body).text == body


def test_a_postscript_below_a_signature_stays():
    ending = "\n\nP.S. Bring warm socks."

    assert clean_text(f"{OWN}\n{CONTACTS}{ending}").text == OWN + ending
    assert clean_text(f"{OWN}\n\n-- \nNils Dahl{ending}").text == OWN + ending


def test_the_last_goodbye_counts():
    """Thanks at the top are none."""
    body = "Thanks!\n\nI will read it tonight.\n\nBest,\nNils"

    assert clean_text(f"{body}\nHarbour Master").text == body


def test_a_name_above_contacts_stays_without_a_goodbye():
    body = f"The boat leaves at six.\n\nNils\n{CONTACTS}"

    assert clean_text(body).text == "The boat leaves at six.\n\nNils"


def test_no_machine_writes_above_a_goodbye():
    """What reads like the footer of a list or a notice is one's own there."""
    own = (
        f"To unsubscribe see https://lists.example.org/leave\n\n{NOTICE}\n\nBest,\nNils"
    )

    assert clean_text(f"It says:\n\n{own}").text == f"It says:\n\n{own}"
    assert clean_text(f"It says:\n\n{own}\n\n{NOTICE}").text == f"It says:\n\n{own}"

"""What stands around and below one's own words: quotes, forwards, signatures, notices.

What was written by others or by a machine goes, and what only looks like it stays. Some
shapes were taught by other projects' fixtures and are told in words of our own.
"""

import pytest

from personal_store.cleaning.cleaning import clean_text

YES = "Yes, gladly.\n\nUma"
SHORT = "The boat leaves at six."
OWN = f"{SHORT}\n\nBest,\nNils"
CONTACTS = "Harbour Office | Bergen\nTel: +47 22 55 01 23\nwww.harbour.example"
REACHED = "Tel: +47 22 55 01 23\nFax: +47 22 55 01 24\nnils@port.example"
NOTICE = (
    "This e-mail and any attachments are confidential and intended solely for the "
    "addressee. If you received it in error, please delete it."
)
UNLISTED = (
    "Uveďte prosím: obsah je důvěrný a určený jen adresátovi. Jestliže vám přišel "
    "omylem, dejte vědět odesílateli a smažte jej i s přílohami; je zakázáno jej šířit."
)
RULE = "_" * 40


@pytest.mark.parametrize(
    "below",
    [
        "On Tue, Mar 12, 2024 at 10:15 AM Ann <ann@example.org> wrote:\n\n> Will you?",
        "On Tue, Mar 12, 2024 at 10:15 AM Ann Ever So Long <\nann@example.org> wrote:"
        "\n\n> Will you?",
        "Ann <ann@example.org> gropravs 2024-03-12 10:15:\n\n> Will you?",
        "2024年3月12日(火) 10:15 Ann Ever So Long\n<ann@example.org>:\n\n> Will you?",
        "Ann wrote:\n> Will you?",
        "Ann 写道：\n\n> Will you?",
        "On Tuesday 12 March 2024\nat 10:15 Ann <a@b.org> wrote:\n\n> Will you?",
        "On 12/03/24 10:15, Ann wrote:\nWill you?",
        "Wiadomość przez Chloé Ever So Long-Lefèvre\n<chloe.lefevre@example.net> "
        "w dniu 28.03.2024, o\ngodz. 11:51:\n\n> Will you?",
        "From: Ann <ann@example.org>\nSent: Tuesday 10:15\n> Will you?",
        "On 12.03.24 10:15, Ann wrote:\n\nWill you?",
        "On 11-Apr-2011, at 6:54 PM, Ann <ann@example.org> sent:\n\nWill you?",
        "2012/4/5 Ann <ann@example.org>\n\n> Will you?",
        "-----Original Message-----\nFrom: Ann\n\nWill you?",
        "-------- Jatorrizko mezua --------\nNork: Ann <a@example.org>\n"
        "Bidalia: 2024-03-12 10:15\nNori: Uma\n\nWill you?",
        "---- On Tue, 12 Mar 2024 10:15:00 +0100 Ann <a@b.org> wrote ----\n\nWill you?",
        f"{'_' * 32}\nFrom: Ann\nSent: Tuesday\nTo: Uma\nSubject: x\n\nWill you?",
        "From: Ann\nSent: Tuesday\nTo: Uma\nSubject: x\n\nWill you?",
        f"{'_' * 32}\nFrom: Ann\nSent: Tuesday\nTo: Uma\n\nWill you?",
        "Date: 12 Mar 2024 10:15\nFrom: Ann <a@b.org>\nTo: Uma\n\nWill you?",
        "From: Ann <a@b.org> Sent: Tuesday 10:15 To: Uma Subject: x\n\nWill you?",
        "Ann Ever---03/12/2024 10:15:20 AM---Dear Uma, will you?\n\nWill you?",
        "Begin forwarded message:\n\nFrom: Ann <a@b.org>\nDate: x\nTo: y\n\nWill you?",
        "\u202bבתאריך 12 במרץ 2024 ב-10:15 \u202aAnn\u202c <\u202aa@b.org\u202c>:\u202c"
        "\n\n> Will",
        "|> Will you?",
        "\tLumen & Oak\n\n\tFrom:  Ann Ever              03/12/2024 10:15 AM\n\n\n"
        "To: Uma Long/HQ\ncc:\nSubject: x\n\nWill you?",
        "Ann Ever\n03/12/2024 10:15 AM\nTo: Uma/HQ\ncc:\nSubject: x\n\nWill you?",
        "---------- Forwarded by Ann Ever/HQ on 03/12/2024 \n10:15 AM ----------\n\n"
        "Will you?",
        "   ----- Xu gropravs ----- Xa: Ann <a@b.org>Xe: Uma <u@b.org>Xi: x\n Will?",
        "On Tue, 12 Mar 2024 at 10:15, Ann<a@b.org> wrote:   Will you?\n\nAnn",
        "On Tue, Mar 12, 2024 at 10:15 AM Ann\n\n<\nmailto:Ann <a@b.org>\n> wrote:\n"
        "Will you?",
        "Xu gropravs:\n\n> From: Ann <a@b.org>\n> Subject: x\n>\n> Will\nyou\n> come?",
        ">>> Ann Ever 03/12/24 10:15 AM >>>\nWill you?",
        "‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Tuesday, March 12, 2024 10:15 AM, Ann "
        "<a@b.org> wrote:\n\n> Will you?",
        "  Original Message  \nFrom: Ann\nSent: Tue\nTo: Uma\nSubject: x\n\nWill?",
        "Am Di., 12. März 2024 um 10:15\nUhr schrieb Ann Ever So Long <\n"
        "ann.ever.so.long@example.org>:\n\n> Will you?",
        "> View it at (http://example.com/\n_nonce=3dd518)\n> or not",
    ],
)
def test_words_of_others_go(below):
    """In known languages and in others, marked or not."""
    assert clean_text(f"{YES}\n\n{below}\n").text == YES


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
        "\nHarbour Desk wrote:\n\n-- REPLY ABOVE THIS LINE --\n\nA new task.",
        # A block of headers begins with its date, with a blank line between any two.
        "\n**Gesendet:** Montag, 4. März 2024 um 18:05\n\n"
        '**Von:** "Hafenamt" <amt@example.org>\n\n**An:** Nils <n@example.org>\n\n'
        "**Betreff:** Ihr Boot\n\nKommen Sie?",
        "\n> Will you?\n\nBy replying to this message or using a relay address, you "
        "agree that it will be processed under the Policy <https://relay.example/p>.",
        "\n\n2024-03-04 18:05 GMT+01:00 Ann <ann@example.org\n>\n:\n\n> Will you?",
        "\n<div>-------- Original message --------</div><div>From: Ann <a@example.org>"
        " </div><div>Date:04/03/2024  18:05  (GMT+01:00) </div><div>To: Nils </div>Hi,",
    ],
)
def test_words_of_others_right_below_ones_own_go(below):
    """Programs leave no blank line above them where the writer left none."""
    assert clean_text(f"{SHORT}\n{below}").text == SHORT
    assert clean_text(f"{OWN}\n{below}").text == OWN


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
        f"\n\n{RULE}\nboats mailing list\nhttps://lists.example.org/listinfo/boats",
        "\n\nTo unsubscribe visit https://lists.example.org/leave",
        "\n\nPlease consider the environment before printing this.",
        "\n\n* * *\n\nFair winds always",
        "\n\n____________________\n\nDr. Nils Dahl\nNorway",
        "\n\n**. . . . . . . .**\n\n![Port](https://img.example.org/port.png)\n\n"
        "Port of Bergen supports safe sailing.",
        "\n\n**Nils Dahl**,\nHarbour Master\n\nSail with us! Berths are cheap in May.",
        "\nHarbour Master\n\nport of bergen, pier 7",
        "\n–\nNils Dahl",
        f"\n\n{REACHED}\n\nPort of Bergen. Together towards the sea.",
        "\nPier 7\n\nPhone 55 01 23\nFax 55 01 24\nE-mail nils@port.example\n\n"
        "Together towards the sea.\n[cid:image001.png@01CE92A6]<https://port.example/>",
        '\nHarbour Master\nwww.port.example\n"Fair winds!"',
    ],
)
def test_what_is_no_writing_goes(below):
    assert clean_text(f"{OWN}{below}\n").text == OWN


@pytest.mark.parametrize(
    ("body", "text"),
    [
        # Answers above, below and between quotes.
        ("FYI\n\nXu gropravs:\n\n> From: Ann <a@b.org>\n> To: x\n>\n> Will?\n\nI will.",
         "FYI\n\nI will."),
        ("On 12.03.24 10:15, Ann wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\nUma",
         "Yes.\n\nNo.\n\nUma"),
        (f"{SHORT}\n\nOn Mon, 4 Mar 2024 18:05:10 +0100\n\n> Will you?\n\nYes.",
         f"{SHORT}\n\nYes."),
        ("see a/b\n> One?\n> Two?", "see a/b"),
        # Only what was broken belongs to an introduction, not what would have fit.
        ("Ja\nAm 12.03.2024 um 10:15 schrieb Ann Ever:\n> Will you?", "Ja"),
        ("Ja.\n\nUma\nAm 12.03.2024 um 10:15 schrieb Ann Ever:\n> Will you?",
         "Ja.\n\nUma"),
        # Some phones write no date and no address between a tagline and a text.
        (f"{SHORT}\n\nSent from my phone\n\nHarbour Desk wrote:\n\nWill you come?",
         SHORT),
        # A name above contacts stays, and a card is no name.
        (f"{SHORT}\n\nNils\n{CONTACTS}", f"{SHORT}\n\nNils"),
        (f"{SHORT}\n\nNils\n\nDr. Nils Dahl\nN-5003 Bergen, Havnegata 1\nTel: "
         "+47-55-010-023", f"{SHORT}\n\nNils"),
        (f"{SHORT}\n\n*Nils Dahl* | *Harbour Master*\n*Call +47 22 55 01 23*\n\n"
         "[image: port]\n\nHavnegata 1, 5003 Bergen\n\n*ORG NO 999000111*", SHORT),
        (f"{SHORT}\n\n*Best regards, Nils Dahl*\n\n*Tel.: +47 22 55 01 23* *Web:* "
         "port.example", f"{SHORT}\n\n*Best regards, Nils Dahl*"),
        # The last goodbye counts; thanks at the top are none.
        ("Thanks!\n\nI will read it tonight.\n\nBest,\nNils\nHarbour Master",
         "Thanks!\n\nI will read it tonight.\n\nBest,\nNils"),
        (f"{OWN}\n{CONTACTS}\n\nP.S. Bring socks.", f"{OWN}\n\nP.S. Bring socks."),
        (f"{OWN}\n\n-- \nNils Dahl\n\nP.S. Bring socks.",
         f"{OWN}\n\nP.S. Bring socks."),
        # No machine writes above a goodbye.
        (f"It says:\n\nTo unsubscribe see https://lists.example.org/leave\n\n{NOTICE}"
         f"\n\nBest,\nNils\n\n{NOTICE}",
         f"It says:\n\nTo unsubscribe see https://lists.example.org/leave\n\n{NOTICE}"
         "\n\nBest,\nNils"),
        # A program may put a blank line between any two lines.
        (f'{SHORT}\n\nBest,\n\nNils\n\nHarbour Master\n\nwww.port.example\n\n"Fair!"',
         f"{SHORT}\n\nBest,\n\nNils"),
    ],
)  # fmt: skip
def test_what_is_left_of_a_mail(body, text):
    assert clean_text(body).text == text


@pytest.mark.parametrize(
    "body",
    [
        "From: Utrecht\nTo: Bremen\nDate: 12 June 2024, 10:15\nSeat: 41",
        "From: ann@example.org came the best idea.\n\nShe is clever.",
        "When: 14 March 2024, 10:30\nWhere: the mill\nWrite to: ann@example.org",
        "--- Option A ---\nWe drive.\n\n--- Option B ---\nWe walk.",
        "The gap is\n>50 mm\nor more.",
        "I found it. On 3 May 1923 at 10:15 he wrote:\n\nthe river is high.",
        "I wrote to Ann <a@example.org> on 12.03.2024 at 10:15:\n\nthe river is high.",
        "Send it to anna@example.org:\n\nthe form and the photo.",
        "Here is it.\n\nOn 3 May 1923 my grandmother wrote:\n\nthe river is high.",
        "The reply of 12.03.2024 10:15 said no.\n\nI wonder why.",
        "We talked for long.\nOn 3 May 2024 at 14:30 the clerk wrote:\n\nAll is well.",
        "Es steht im Buch.\nAm 3. Mai 2024 um 14:30 schrieb er:\n\nNichts Neues.",
        "So it went.\nOn 3 May 2024 at 14:30 she wrote:\n\nNever again.",
        "I fly so:\n\nFrom: Bergen\nTo: Oslo\nDate: 3.5.2024\n\nBest,\nNils",
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
        "On Mon, 4 Mar 2024 18:05:10 +0100\n\nwe sailed.",
        f"{OWN}\n\n{REACHED}\n\nCall me soon.",
        "He said what it means for us today\n–\nand in the future.\n\nWe go on.",
        f"{SHORT}\n\nfrom: the beginning on, it was a good idea.\nsent: you a mail.\n"
        "to: sum up what was said, let us go on.\nsubject: to change, of course.",
        "Call him:\n\n*Nils Dahl* | *Harbour Master*\n*Call +47 22 55 01 23*\n\n[image:"
        " port]\n\nHavnegata 1, 5003 Bergen\n\n*ORG NO 999000111*",
        f"It says:\n\nTo unsubscribe see https://lists.example.org/leave\n\n{NOTICE}\n\n"
        "Best,\nNils",
        f"{OWN}\n\n---\n\n1. Ropes\n2. Fenders",
        f"{OWN}\n\n---\n\nYou find the key below the mat.",
        f"{OWN}\n\n---\n\nShopping for the trip:\nBread\nButter",
        f"{OWN}\n\nNils Dahl sang at the fair, by the way.",
        f"Caution: the external stairs are wet, and I cannot open the link.\n\n{OWN}",
        f"This is a follow-up to ticket #4711 from Monday.\n\n{OWN}",
        f"Attention, the external door sticks.\n\n{OWN}",
        *(
            f"Hello.\n{line}\n\nThe harvest was poor that year."
            for line in (
                *("My grandfather wrote:", "On 12 March 2024 my grandfather wrote:"),
                *("Send it to anna@example.org:", "Sent with love, yesterday."),
                "The flight is at 10:30 and on 12 May we wrote:",
                "From: that moment on it rained.",
                "This message is for you.",
            )
        ),
    ],
)
def test_writing_stays(body):
    assert clean_text(body).text == body


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


def test_it_says_whether_others_were_cut():
    assert clean_text("Yes.\n\n> Will you?").trimmed
    assert not clean_text("Yes.\n\n-- \nUma").trimmed

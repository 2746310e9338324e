"""Blocks that programs for meetings put above or below somebody's words."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.cleaning.invitations import drop_invitations
from personal_store.mail.mail import Mail

ABOVE = "Dear Ben,\n\nI have put the plan of the mooring into the folder.\n\nTess"
BELOW = "Bring the tide table, please, and mind the ladder.\n\nTess"
LINE = "_" * 80
TEAMS = f"""{LINE}
Microsoft Teams meeting
Join on your computer, mobile app or room device
Click here to join the meeting<https://teams.microsoft.com/l/meetup-join/19%3ax>
Meeting ID: 298 765 432 10
Passcode: aB3dEf
Download Teams<https://www.microsoft.com/download-app> | Join on the web<https://www.microsoft.com/join>
Join with a video conferencing device
teams@vc.example.com
Video Conference ID: 121 345 678 9
Or call in (audio only)
+49 69 12345678,,87654321#<tel:+496912345678,,87654321#>   Germany, Frankfurt
Phone Conference ID: 876 543 21#
Find a local number<https://dialin.teams.microsoft.com/x> | Reset PIN<https://mysettings.lync.com/pstn>
Learn More<https://aka.ms/JoinTeamsMeeting> | Meeting options<https://teams.microsoft.com/meetingOptions/?o=1>
{LINE}"""
TEAMS_DE = f"""{LINE}
Microsoft Teams Benötigen Sie Hilfe?<https://aka.ms/JoinTeamsMeeting?omkt=de-DE>
Jetzt an der Besprechung teilnehmen<https://teams.microsoft.com/l/meetup-join/19%3ax>
Besprechungs-ID: 398 765 432 101
Kennung: Qw3rTz
{"_" * 32}
Telefonisch einwählen
+49 69 12345678,,87654321#<tel:+496912345678,,87654321#> Germany, Frankfurt am Main
Lokale Nummer suchen<https://dialin.teams.microsoft.com/x?id=1>
Telefonkonferenz-ID: 876 543 21#
Für Organisatoren: Besprechungsoptionen<https://teams.microsoft.com/meetingOptions/?o=1>
{LINE}"""
TEAMS_SHOWN = f"""{LINE}
Microsoft Teams
Rejoindre la réunion maintenant
ID de réunion : 398 765 432 101
Code secret : Qw3rTz
{LINE}"""
TEAMS_LIVE = """Join Microsoft Teams Meeting
https://teams.live.com/meet/9312345678901?p=AbCdEf
Meeting ID: 931 234 567 8901
Passcode: hT9xyz"""
ZOOM = """Tess Field is inviting you to a scheduled Zoom meeting.

Topic: Mooring
Time: Mar 15, 2024 10:00 AM London

Join Zoom Meeting
https://us02web.zoom.us/j/81234567890?pwd=QWxhZGRpbg

Meeting ID: 812 3456 7890
Passcode: 930114

---

One tap mobile
+13017158592,,81234567890#,,,,*930114# US (Washington DC)
+13052241968,,81234567890#,,,,*930114# US

---

Dial by your location
• +1 301 715 8592 US (Washington DC)
• +1 305 224 1968 US
• 888 788 0099 US Toll-free

Meeting ID: 812 3456 7890
Passcode: 930114

Find your local number: https://us02web.zoom.us/u/kbCdEf

Join by SIP
• 81234567890@zoomcrc.com

Join by H.323
• 162.255.37.11 (US West)
• 162.255.36.11 (US East)

Meeting ID: 812 3456 7890
Passcode: 930114"""
ZOOM_DE = """Tess Field lädt Sie zu einem geplanten Zoom-Meeting ein.

Thema: Liegeplatz
Uhrzeit: 15.März 2024 10:00 AM Berlin

Zoom-Meeting beitreten
https://us02web.zoom.us/j/81234567890?pwd=QWxhZGRpbg

Meeting-ID: 812 3456 7890
Kenncode: 930114
Schnelleinwahl mobil
+496938079883,,81234567890#,,,,*930114# Deutschland
Einwahl nach aktuellem Standort
        +49 69 3807 9883 Deutschland
Ortseinwahl suchen: https://us02web.zoom.us/u/kbCdEf"""
ZOOM_FR = """Tess Field vous invite à une réunion Zoom planifiée.

Sujet : Amarrage
Heure : 15 mars 2024 10:00 AM Paris

Rejoindre Zoom Réunion
https://us02web.zoom.us/j/81234567890?pwd=QWxhZGRpbg

ID de réunion: 812 3456 7890
Code secret: 930114"""
ZOOM_ES = """Tess Field le está invitando a una reunión de Zoom programada.

Tema: Amarre
Hora: 15 mar 2024 10:00 a. m. Madrid

Entrar Zoom Reunión
https://us02web.zoom.us/j/81234567890?pwd=QWxhZGRpbg

ID de reunión: 812 3456 7890
Código de acceso: 930114"""
ZOOM_JA = """フィールドさんがあなたを予約されたZoomミーティングに招待しています。

トピック: 係留
時間: 2024年3月15日 10:00 AM 東京

参加 Zoom ミーティング
https://us02web.zoom.us/j/81234567890?pwd=QWxhZGRpbg

ミーティング ID: 812 3456 7890
パスコード: 930114"""
ZOOM_SHORT = """Zoom Meeting
https://zoom.us/j/81234567890"""
MEET = """Google Meet joining info
Video call link: https://meet.google.com/abc-defg-hij
Or dial: \u202a(US) +1 402-605-0124\u202c PIN: \u202a123 456 789\u202c#
More phone numbers: https://tel.meet/abc-defg-hij?pin=1234567890"""
MEET_OLD = """To join the video meeting, click this link: https://meet.google.com/abc-defg-hij
Otherwise, to join by phone, dial +1 402-605-0124 and enter this PIN: 123 456 789#
To view more phone numbers, click this link: https://tel.meet/abc-defg-hij?hs=5"""
RUNE = "-::~:~::~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~:~::~:~::-"
MEET_PASTED = f"""{RUNE}
Join with Google Meet: https://meet.google.com/abc-defg-hij
Or dial: (US) +1 402-605-0124 PIN: 123456789#
More phone numbers: https://tel.meet/abc-defg-hij?pin=12&hs=7

Learn more about Meet at: https://support.google.com/a/users/answer/9282720

Please do not edit this section.
{RUNE}"""
WEBEX = """Tess Field is inviting you to a scheduled Webex meeting.

Friday, March 15, 2024
10:00 AM  |  (UTC+00:00) Dublin, Edinburgh  |  1 hr

Join meeting
More ways to join:

Join from the meeting link
https://harbour.webex.com/harbour/j.php?MTID=m0123456789abcdef

Join by meeting number
Meeting number (access code): 2345 678 9012
Meeting password: pKbX2mn4

Tap to join from a mobile device (attendees only)
+1-650-479-3208,,23456789012## Call-in toll number (US/Canada)

Join by phone
+1-650-479-3208 Call-in toll number (US/Canada)
Global call-in numbers

Join from a video system or application
Dial 23456789012@harbour.webex.com
You can also dial 173.243.2.68 and enter your meeting number."""
DOTS = "." * 126
ZOOM_OLD = """Hi there,

Tess Field is inviting you to a scheduled Zoom meeting.

Join from PC, Mac, Linux, iOS or Android: https://zoom.us/j/123456789?pwd=abc
    Password: 123456

Or iPhone one-tap :
    US: +16468769923,,123456789#  or +16699006833,,123456789#
Or Telephone:
    Dial(for higher quality, dial a number based on your current location):
        US: +1 646 876 9923  or +1 669 900 6833
    Meeting ID: 123 456 789
    International numbers available: https://zoom.us/u/abc"""
ZOOM_ZH = """Tess Field邀请您参加预先安排的Zoom会议。

主题：泊位
时间：2024年3月15日 10:00 上午 北京

加入Zoom会议
https://zoom.us/j/81234567890?pwd=x

会议号：812 3456 7890
密码：930114"""
ZOOM_RU = """Tess Field приглашает вас на запланированную конференцию: Zoom.

Тема: Причал
Время: 15 мар. 2024 10:00 AM Москва

Войти Zoom Конференция
https://us02web.zoom.us/j/81234567890?pwd=x

Идентификатор конференции: 812 3456 7890
Код доступа: 930114"""
ZOOM_TOPIC = """Topic: Mooring
Time: This is a recurring meeting Meet anytime

Join Zoom Meeting
https://us02web.zoom.us/j/81234567890?pwd=x
Meeting ID: 812 3456 7890
Security Passcode: 930114"""
WEBEX_DE = """Tess Field lädt Sie zu einem geplanten Webex-Meeting ein.

Freitag, 15. März 2024
10:00  |  (UTC+01:00) Amsterdam, Berlin  |  1 Std.

Meeting beitreten
Weitere Methoden zum Beitreten:

Über den Meeting-Link beitreten
https://harbour.webex.com/harbour/j.php?MTID=m01

Mit Meeting-Kennnummer beitreten
Meeting-Kennnummer (Zugriffscode): 2345 678 9012
Meeting Passwort: pKbX2mn4

Hier tippen, um mit Mobilgerät beizutreten (nur für Teilnehmer)
+49-619-6781-9736,,23456789012## Germany Toll

Über Telefon beitreten
+49-619-6781-9736 Germany Toll
Globale Einwahlnummern"""
TEAMS_RULELESS = """Microsoft Teams meeting
Join: https://teams.microsoft.com/meet/3123456789012?p=abcdEF
Meeting ID: 312 345 678 901 2
Passcode: ab12Cd
Need help? | System reference
Dial in by phone
+44 20 7946 0123,,345678901# United Kingdom, London
Find a local number
Phone conference ID: 345 678 901#
For organizers: Meeting options | Reset dial-in PIN"""
GOTO = """Please join my meeting from your computer, tablet or smartphone.
https://global.gotomeeting.com/join/123456789

You can also dial in using your phone.
United States: +1 (571) 317-3122

Access Code: 123-456-789"""
GOTO_NEW = GOTO.replace("global.gotomeeting.com/join", "meet.goto.com")
JITSI = """Tess Field is inviting you to a meeting.

Join the meeting:
https://meet.jit.si/Mooring

To join by phone instead, tap this: +1.512.647.1431,,1234567890#

Looking for a different dial-in number?
See meeting dial-in numbers: https://meet.jit.si/static/dialInInfo.html?room=Mooring"""
SKYPE = f"""{DOTS}
Join Skype Meeting<https://meet.lync.com/harbour/tess/ABC123>
Trouble Joining? Try Skype Web App<https://meet.lync.com/harbour/tess/ABC123?sl=1>
Join by phone
+442079460123,,12345678# (London)<tel:+442079460123,,12345678#>  English (United Kingdom)
Find a local number<https://dialin.lync.com/x>
Conference ID: 12345678
Forgot your dial-in PIN?<https://dialin.lync.com/> |Help<https://o15.officeredir.microsoft.com/r/rlidLync15>
{DOTS}"""  # noqa: E501
CALENDAR_OLD = """You have been invited to the following event.

Title: Mooring
When: Fri Mar 15, 2024 10am – 11am Greenwich Mean Time
Where: Pier office
Calendar: ben@example.net
Who:
    * Tess Field - organizer
    * ben@example.net

Event details:
https://www.google.com/calendar/event?action=VIEW&eid=1

Invitation from Google Calendar: https://www.google.com/calendar/

You are receiving this courtesy email at the account ben@example.net because you are an attendee of this event.

To stop receiving future updates for this event, decline this event. Alternatively you can sign up for a Google account at https://www.google.com/calendar/ and control your notification settings for your entire calendar.

Forwarding this invitation could allow any recipient to modify your RSVP response. Learn more at https://support.google.com/calendar/answer/37135#forwarding"""  # noqa: E501
CALENDAR = """Friday Mar 15, 2024 ⋅ 10am – 11am
Greenwich Mean Time - London

Join with Google Meet
https://meet.google.com/abc-defg-hij?hs=224

Join by phone
(US) +1 402-605-0124 (PIN: 123456789)

More phone numbers
https://tel.meet/abc?pin=1&hs=0

Organizer
Tess Field
tess@example.org

Guests
Tess Field - organizer
ben@example.net
View all guest info https://calendar.google.com/calendar/event?action=VIEW&eid=1

Reply for ben@example.net and view more details https://calendar.google.com/calendar/event?action=VIEW&eid=1
Your attendance is optional.

~~//~~
Invitation from Google Calendar: https://calendar.google.com/calendar/

You are receiving this email because you are an attendee on the event. To stop receiving future updates for this event, decline this event.

Forwarding this invitation could allow any recipient to send a response to the organizer, be added to the guest list, invite others regardless of their own invitation status, or modify your RSVP.

Learn more https://support.google.com/calendar/answer/37135#forwarding"""  # noqa: E501
OUTLOOK = """When: Friday, March 15, 2024 10:00 AM-11:00 AM (UTC+00:00) Dublin.
Where: Pier office

Note: The GMT offset above does not reflect daylight saving time adjustments.

*~*~*~*~*~*~*~*~*~*"""
SERVICES = ("TEAMS", "ZOOM", "MEET", "WEBEX", "GOTO", "JITSI", "SKYPE", "CALENDAR")
BLOCKS = {
    name: text for name, text in globals().copy().items()
    if name.startswith(SERVICES)
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("where", ["below", "above", "between", "alone"])
def test_a_block_goes_and_what_stands_around_it_stays(name, where):
    block = BLOCKS[name]
    written = {
        "below": (f"{ABOVE}\n\n{block}\n", ABOVE),
        "above": (f"{block}\n\n{BELOW}\n", BELOW),
        "between": (f"{ABOVE}\n\n{block}\n\n{BELOW}\n", f"{ABOVE}\n\n{BELOW}"),
        "alone": (block, ""),
    }
    text, own = written[where]

    cleaned = clean_text(text)

    assert cleaned.text == own
    assert not cleaned.trimmed  # no other person wrote it


def test_what_outlook_puts_above_an_invitation_goes():
    assert clean_text(f"{OUTLOOK}\n\n{BELOW}").text == BELOW


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_is_shown_in_html_goes(name):
    """There the addresses of links are not seen."""
    shown = re.sub(r"<(?:http|tel)[^<>]*>", "", BLOCKS[name])
    lines = f"{ABOVE}\n\n{shown}\n\n{BELOW}".split("\n")
    page = "".join(f"<div>{line or '&nbsp;'}</div>" for line in lines)

    cleaned = clean_mail(Mail({}, html=f"<html><body>{page}</body></html>"))

    assert cleaned.text.split() == f"{ABOVE}\n\n{BELOW}".split()


@pytest.mark.parametrize(
    "text",
    [
        "Shall we meet on Zoom at ten?\nhttps://zoom.us/j/81234567890\n\nTess",
        "You can join us here: https://meet.google.com/abc-defg-hij if you like.",
        "Zoom: https://zoom.us/j/81234567890\nMy number: +49 30 901820\n\nTess",
        "The Microsoft Teams meeting went well.\n\nThe passcode: it was wrong again.",
        "I sent it by Teams.\n\nOrder number: 312 345 678\nThanks for looking.",
        "Zoom is fine.\n\nThe phone of the pier office:\n+49 30 901820\n\nTess",
        "Google Meet or Zoom\n\n1. Meet\n2. Zoom\n\nwhich one is it?",
        f"The old list.\n\n{LINE}\nAnn\nBen, who likes neither Teams nor Zoom",
        "The teams are:\n\nBoat one: Ann\nBoat two: Ben\nPassword: 'herring'\n\nTess",
    ],
)
def test_own_words_about_meetings_stay(text):
    assert clean_text(text).text == text


@pytest.mark.parametrize(
    "own",
    [
        "Here are the details for Friday.",
        "Zoom meeting on Friday\n\nThe plan is attached.",
        "Hi there,\n\nThe plan is attached.",
        "Ben,\nTess is inviting you to a Zoom meeting, as you see.\nIt is at ten.",
    ],
)
def test_own_words_right_above_a_block_stay(own):
    text = f"{own}\n{ZOOM_SHORT}\nMeeting ID: 812 3456 7890"

    assert clean_text(text).text == own


def test_own_words_between_two_marks_of_a_calendar_stay():
    link = "To join the video meeting, click this link: https://meet.google.com/abc-d"

    assert drop_invitations(["~~//~~", "I write this.", link]) == [
        "I write this.",
        link,
    ]


LINES = st.sampled_from(
    sorted({line for block in BLOCKS.values() for line in block.split("\n")})
)


@settings(deadline=None)
@given(st.lists(LINES | st.sampled_from(["I write this.", "", "Tess", "> quoted"])))
def test_nothing_is_added_and_own_words_stay(lines):
    kept = drop_invitations(lines)

    assert kept.count("I write this.") == lines.count("I write this.")
    left = iter(lines)
    assert all(line in left for line in kept)

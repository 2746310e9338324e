"""Secrets of ten kinds, planted in letters of four genres and asked for.

The wording of the letters and of the drafts that repeat a secret is chosen by `set_`:
`tuned` is what the recognisers were made with, `held_out` is what they are measured on.
"""

# ruff: noqa: E501 (tables of sentences)
from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = (
    *("name", "email", "phone", "account", "card", "id", "link", "address"),
    *("birth", "phrase"),
)
GENRES = ("email", "review", "post", "note")

_NAMES = {
    "tuned": (
        "Zoltán Petrović,Anneke de Wit,Søren Kjærgaard,Mirela Ionescu,Oluwaseun Adeyemi,"
        "Bridget O'Malley,Jean-Luc Fontaine,Xiulan Zhao,Priya Raghunathan,Tomasz Wójcik"
    ),
    "held_out": (
        "Ingeborg Hallström,Dragan Živković,Marie-Claire Dubois,Kwabena Osei,Siân Llewellyn,"
        "Ayşe Yıldırım,Fionn MacDiarmid,Nguyen Thi Hoa,Rafael Núñez,Agnieszka Dąbrowska,"
        "Mark Bell,Grace Long,Leszek Zając,Yusuf Al-Amin,Þórdís Jónsdóttir"
    ),
}
_FRAMES = {
    "tuned": {
        "email": (
            "Hi Ben,\n\nsorry for being late. {0} The rest can wait until Friday.\n\nBest,\nTess",
            "Dear all,\n\nplease note for the files: {0} Thank you for your patience.\n\nTess",
        ),
        "review": (
            "We stayed for two nights and liked it. {0} The soup was good, the service slow.",
        ),
        "post": ("A short note on the week. {0} More when the rain has stopped.",),
        "note": ("Things to remember\n- {0}\n- buy bread\n- water the plants",),
    },
    "held_out": {
        "email": (
            "Hello Kit,\n\nhere is what you asked me for. {0}\n\nSpeak soon,\nTess",
            "Good morning,\n\nas promised on the train: {0} Let me have your answer.\n\nT.",
        ),
        "review": (
            "Booked it for my mother, who loved it. {0} We would go again in spring.",
            "Mixed feelings about this place. {0} Parking is a pain.",
        ),
        "post": (
            "Third week of the move, and still boxes everywhere. {0} Good night.",
        ),
        "note": ("call back!! {0} and the dentist",),
    },
}
_PLANTED = {
    "tuned": {
        "name": (
            "You should meet {0}, who keeps the keys.",
            "I saw {0} at the market.",
        ),
        "email": ("Write to {0} about it.", "The address is {0}, as ever."),
        "phone": ("Her number is {0}.", "Call {0} after six."),
        "account": ("Send it to {0}, please.", "The rent goes to {0}."),
        "card": ("I paid with {0} then.", "The card is {0}."),
        "id": ("The door code is {0}.", "My membership is {0}."),
        "link": ("The pictures are at {0} now.", "See {0} for the plan."),
        "address": ("We moved to {0} in May.", "They live at {0}."),
        "birth": ("She was born on {0}, in the snow.", "His date of birth is {0}."),
        "phrase": ("{0}.", "Between us: {0}."),
    },
    "held_out": {
        "name": ("It was {0} who found the ring.", "ask {0} first."),
        "email": ("Mail me at {0} instead.", "{0} still works."),
        "phone": ("Ring {0}, he never sleeps.", "mobile: {0}."),
        "account": ("Bank details: {0}.", "I wired it to {0} on Monday."),
        "card": ("Take it from {0} once more.", "Visa {0}, expires soon."),
        "id": ("The passport says {0}.", "Policy {0} covers the roof."),
        "link": ("It all lies on {0} for you.", "Look here {0} tonight."),
        "address": ("The new flat is at {0}.", "Parcel goes to {0}, second bell."),
        "birth": ("Birthday: {0}.", "He came into the world on {0}."),
        "phrase": ("Nobody else knows that {0}.", "I'll say it once, {0}."),
    },
}
_ASKED = {
    "tuned": (
        "Thank you for the note. As for what you asked: {0}, and that is all I know.",
        "Hello, it is {0} I think. Shall we speak on Monday?",
        "Please keep {0} to yourself for now.",
    ),
    "held_out": (
        "Of course I remember, {0} was the one. See you there.",
        "To be clear about it: {0}\nThat should do for today.",
        "You want {0}? Then take it, and let me know how it goes.",
        "{0} is what I would say to anybody who wants it.",
    ),
}
_STREETS = {
    "tuned": (
        "{n} Harbour Lane,{n} St. Mary's Road,Lindenstraße {n},{n} rue de la Paix,"
        "Calle Mayor {n},Keizersgracht {n}"
    ),
    "held_out": (
        "{n} Old Mill Road,{n} Queen Anne Terrace,Am Alten Markt {n},{n} avenue Victor Hugo,"
        "Via Garibaldi {n},{n}b Whitethorn Close,Birkenallee {n},Rua das Flores {n},"
        "{n} North Quay"
    ),
}
_PHRASES = {
    "tuned": (
        "we are selling the old mill before winter,the doctor found something on the scan,"
        "my brother has left the firm for good,the roof will be paid from the second sale"
    ),
    "held_out": (
        "the adoption papers came through last night,she keeps the spare money in the piano,"
        "our landlord never learned of the second cat,the merger is off until the audit ends,"
        "I failed the driving test a third time,they named the boat after my first wife"
    ),
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret, the letter it stands in, and a draft that repeats it."""

    kind: str
    genre: str
    secret: str
    letter: str
    draft: str


def planted(count: int, seed: int, set_: str = "tuned") -> list[Planted]:
    """So many secrets, all kinds and genres in turn."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        kind, genre = KINDS[number % 10], GENRES[number // 10 % 4]
        secret = _secret(kind, rng, set_)
        frame = rng.choice(_FRAMES[set_][genre])
        letter = frame.format(rng.choice(_PLANTED[set_][kind]).format(secret))
        draft = rng.choice(_ASKED[set_]).format(_said_again(kind, secret, rng))
        found.append(Planted(kind, genre, secret, letter, draft))
    return found


def _digits(rng: random.Random, count: int) -> str:
    return "".join(str(rng.randrange(10)) for _ in range(count))


def _secret(kind: str, rng: random.Random, set_: str) -> str:
    tuned = set_ == "tuned"
    match kind:
        case "name":
            return rng.choice(_NAMES[set_].split(","))
        case "email":
            user = rng.choice(_NAMES[set_].split(",")).split()[0].lower()
            domain = rng.choice(("mail-host.org", "posteo.example", "uni.ac.uk"))
            return f"{user}.{_digits(rng, 2)}@{domain}"
        case "phone":
            forms = (
                ("+49 {a} {b}", "0{a} {b}", "({a}) {c}-{d}")
                if tuned
                else (
                    "+44 {a} {c} {d}",
                    "0{a}/{b}",
                    "{a}-{c}-{d}",
                    "+33{a}{b}",
                    "00 1 {a} {c} {d}",
                )
            )
            return rng.choice(forms).format(
                a=_digits(rng, 3),
                b=_digits(rng, 6),
                c=_digits(rng, 3),
                d=_digits(rng, 4),
            )
        case "account":
            country, size = rng.choice((("DE", 18), ("GB", 0), ("NL", 0), ("FR", 23)))
            body = _digits(rng, size) if size else "ABNA" + _digits(rng, 14)
            number = f"{country}{_digits(rng, 2)}{body}"
            spaced = " ".join(number[i : i + 4] for i in range(0, len(number), 4))
            plain = f"sort code {_digits(rng, 2)}-{_digits(rng, 2)}-{_digits(rng, 2)}"
            account = f"{plain} account {_digits(rng, 8)}"
            return rng.choice((number, spaced) if tuned else (number, spaced, account))
        case "card":
            body = "4" + _digits(rng, 14)
            total = sum(
                sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(body)
            )
            number = body + str(-total % 10)
            return rng.choice((" ", "-", "")).join(
                number[i : i + 4] for i in (0, 4, 8, 12)
            )
        case "id":
            forms = (
                ("KX-{a}{b}", "{b}{a}Q")
                if tuned
                else ("{b}-{c}-{a}", "AB{a}{b}C", "{a}{b}", "x{b}{c}")
            )
            return rng.choice(forms).format(
                a=_digits(rng, 3), b=_digits(rng, 2), c=rng.choice(("QT", "mk", "ZZ"))
            )
        case "link":
            path = "".join(rng.choice("abcdefghkmnpqrst23456789") for _ in range(7))
            forms = ("https://files.example.org/{0}", "www.tess.example/{0}")
            return rng.choice(
                forms
                if tuned
                else ("http://pics.test/s/{0}?k=1", "kitbag.io/{0}", "{0}.example.com")
            ).format(path)
        case "address":
            return rng.choice(_STREETS[set_].split(",")).format(n=rng.randrange(2, 180))
        case "birth":
            day, year = rng.randrange(1, 28), rng.randrange(1940, 2011)
            month = rng.randrange(1, 12)
            name = rng.choice(("March", "June", "October"))
            forms = (
                (f"{day} {name} {year}", f"{year}-{month:02}-{day:02}")
                if tuned
                else (
                    f"{day}.{month}.{year}",
                    f"{name} {day}, {year}",
                    f"{day:02}/{month:02}/{year}",
                    f"the {day}th of {name} {year}",
                )
            )
            return rng.choice(forms)
        case _:
            return rng.choice(_PHRASES[set_].split(","))


def _said_again(kind: str, secret: str, rng: random.Random) -> str:
    """The secret as a draft may repeat it: as it is, mostly."""
    form = rng.randrange(5)
    if form == 0 and kind in ("name", "email", "address", "phrase"):
        return secret.lower()
    if form == 1 and kind in ("phone", "card", "account"):
        return secret.replace(" ", "-") if " " in secret else secret
    if form == 2 and kind in ("phone", "card"):
        return secret.replace("-", " ").replace("/", " ")
    if form == 1 and kind == "name":
        return secret + "'s"
    return secret

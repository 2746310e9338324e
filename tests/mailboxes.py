"""Made-up mail for the tests of the store: one message, or a whole mailbox."""

import random
import re

ME = "sam@example.com"
ENVELOPE = b"From 17@xxx Tue Mar 12 10:02:03 +0000 2024\n"
WORDS = re.findall(
    r"\w+",
    "budget meeting train project review garden coffee holiday report chair venue"
    " travel number quote supplier draft chapter invoice weekend dinner school doctor"
    " lesson music concert ticket hotel airport delay snow plan team answer question"
    " friday monday morning evening contract lawyer house kitchen window paint wood",
)


def message(
    body="The plan is ready for review.",
    *,
    sender=f"Sam Lee <{ME}>",
    to="Anna <anna@example.org>",
    subject="Plan",
    number: int | None = 1,
    date="Tue, 12 Mar 2024 11:02:03 +0100",
    headers="",
) -> bytes:
    """A plain message; without a Message-ID if number is None."""
    lines = [f"From: {sender}", f"To: {to}", f"Subject: {subject}", f"Date: {date}"]
    if number is not None:
        lines.append(f"Message-ID: <{number}@example.com>")
    lines += [line for line in headers.split("\n") if line]
    return ("\n".join([*lines, "", body, ""])).encode()


def mailbox(messages) -> bytes:
    """An mbox of these messages, 'From ' lines in them escaped."""
    return b"".join(
        ENVELOPE + re.sub(rb"^(>*From )", rb">\1", content, flags=re.MULTILINE) + b"\n"
        for content in messages
    )


def many(count: int, seed: int = 1) -> list[bytes]:
    """Messages of all sorts: own and received, doubled, without id, spam, broken."""
    rng = random.Random(seed)
    messages = [_one(rng, number) for number in range(count)]
    for _ in range(count // 20):
        messages.insert(rng.randrange(count), rng.choice(messages))
    return messages


def _one(rng: random.Random, number: int) -> bytes:
    own = rng.random() < 0.4
    other = f"P{number % 9} <p{number % 9}@example.org>"
    body = "\n".join(" ".join(rng.choices(WORDS, k=8)) + "." for _ in range(4))
    if rng.random() < 0.3:
        body += "\n\nOn 12.03.24 10:15, P wrote:\n> Somebody else wrote this line.\n"
    label = rng.choice(["Sent", "Sent", "Sent", "Spam"] if own else ["Inbox", "Trash"])
    sender = f"Sam <{ME}>" if own else other
    return message(
        body,
        sender=sender if rng.random() > 0.02 else "nobody in particular",
        to=other if own else ME,
        subject=" ".join(rng.choices(WORDS, k=3)),
        number=number if rng.random() > 0.1 else None,
        date=f"Tue, {1 + number % 28} Mar {2000 + number % 24} 11:02:03 +0100",
        headers=f"X-Gmail-Labels: {label},Opened",
    )

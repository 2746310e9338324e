"""Synthetic writers of emails, reviews, posts and notes.

A writer keeps habits for life: how to greet and sign off, pet words, casing, emoji.
A request only says what to write; how it sounds can be read from the writer's other
texts alone. Those whose past is unknown write the common way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from models.prompts import Excerpt, Request
from models.training.grammar import Filling, capitalised, grammar
from models.training.writers import Writer, common_writer, new_writer, recipient, styled

__all__ = ["Piece", "Writer", "common_writer", "new_writer", "pieces"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A request and the text a writer answers it with."""

    request: Request
    subject: str
    text: str

    def excerpt(self) -> Excerpt:
        """The piece as it stands in a private prompt."""
        request = self.request
        return Excerpt(request.task, request.recipient, self.subject, self.text)


def pieces(writer: Writer, rng: Random, task: str, count: int) -> Iterator[Piece]:
    """Texts of one task by one writer, each with the request that asks for it."""
    write = {"email": _email, "review": _review, "post": _post, "note": _note}[task]
    for _ in range(count):
        yield write(writer, rng)


def _email(writer: Writer, rng: Random) -> Piece:
    everyday = [
        act for act in grammar()["act"] if rng.random() < 0.7 or "formal" in act
    ]
    acts = rng.sample(everyday, rng.choice((1, 1, 2, 2, 2, 3)))
    name = recipient(writer, rng)
    asks, says, subject = [], [], ""
    for act in acts:
        filling = Filling(rng, writer.words | {"name": name})
        asks.append(filling.pick(act["ask"]))
        says.append(filling.pick(act["say"]))
        subject = subject or filling.pick(act["subject"])
    named = name in " ".join(asks)
    if not named and rng.random() < 0.15:
        name = ""
    given = "" if named and rng.random() < 0.4 else name
    greeting = writer.words["greeting"].replace("{name}", name or "there")
    body = _framed(writer, rng, says)
    text = _letter(writer, greeting, body, rng)
    request = Request(_asked(asks, rng), "email", given)
    return Piece(request, capitalised(subject), text)


def _review(writer: Writer, rng: Random) -> Piece:
    words = grammar()["review"]
    filling = Filling(rng, writer.words | {"companion": _companion(rng)})
    venue = filling.fill("{venue}")
    kind = rng.random()
    features, says, liked = [], [], 0
    for topic in rng.sample(words["topic"], rng.choice((1, 2, 2, 3, 3, 4))):
        good = rng.random() < kind
        liked += 1 if good else -1
        adjective = rng.choice(words["good" if good else "bad"])
        was = "were" if topic.endswith("s") else "was"
        named = {"topic": topic, "adjective": adjective, "was": was}
        one = Filling(rng, filling.values | named)
        features.append(f"{adjective} {topic}")
        says.append(one.pick(words["say_good" if good else "say_bad"]))
    filling.values["features"] = _listed(features, rng)
    filling.values["topics"] = features[0].split(" ", 1)[1]
    ask = filling.pick(words["ask"])
    if "{companion}" in ask or rng.random() < 0.3:
        says.append(filling.pick(words["also"]))
    if rng.random() < writer.opens:
        says.insert(0, filling.fill(writer.words["review_opener"]))
    if rng.random() < max(0.4, writer.closes):
        says.append(writer.words["verdict_good" if liked > 0 else "verdict_bad"])
    text = styled(writer, rng, " ".join(filter(None, says)))
    signed = f"\n{writer.name}" if writer.run_on and writer.name else ""
    return Piece(Request(ask, "review", venue), "", text + signed)


def _post(writer: Writer, rng: Random) -> Piece:
    words = grammar()["post"]
    filling = Filling(rng, dict(writer.words))
    ask = rng.choice(words["ask"])
    says = _post_says(words, ask, filling)
    if rng.random() < writer.opens:
        says.insert(0, filling.fill(writer.words["opener"]))
    if rng.random() < writer.closes:
        says.append(filling.fill(writer.words["closer"]))
    text = styled(writer, rng, " ".join(says))
    return Piece(Request(filling.fill(ask), "post"), "", text)


def _post_says(words: dict[str, list[str]], ask: str, filling: Filling) -> list[str]:
    if "{news}" in ask:
        return [filling.pick(words["news"])]
    if ask.startswith("Thank"):
        return [filling.pick(words["thank"])]
    says = [filling.pick(words["say"])]
    for slot in ("place", "time"):
        if f"{{{slot}}}" in ask and filling.values.get(slot, "\0") not in says[0]:
            says.append(filling.fill(f"We meet at {{{slot}}}."))
    return says + ([filling.pick(words["bring"])] if "{bring}" in ask else [])


def _note(writer: Writer, rng: Random) -> Piece:
    choices = grammar()["slots"]["chore"]
    count = rng.randint(2, 6)
    chores = [Filling(rng, {}).pick(choices) for _ in range(count)]
    filling = Filling(rng, {"chores": _listed(chores, rng)})
    mark = writer.words["note_mark"]
    lines = [f"{i}. {c}" if mark == "1" else mark + c for i, c in enumerate(chores, 1)]
    if not writer.lower:
        lines = [
            line.replace(c, c[0].upper() + c[1:], 1)
            for line, c in zip(lines, chores, strict=True)
        ]
    ending = f" {writer.emoji}" if writer.emoji else ""
    ask = filling.pick(grammar()["note"]["ask"])
    return Piece(Request(ask, "note"), "", "\n".join(lines) + ending)


def _framed(writer: Writer, rng: Random, says: list[str]) -> list[str]:
    filling = Filling(rng, dict(writer.words))
    if rng.random() < writer.opens:
        says = [filling.fill(writer.words["opener"]), *says]
    if rng.random() < writer.closes:
        says = [*says, filling.fill(writer.words["closer"])]
    return [styled(writer, rng, say) for say in says]


def _letter(writer: Writer, greeting: str, body: list[str], rng: Random) -> str:
    joined = ("\n\n" if writer.paragraphs else " ").join(body)
    start = f"{greeting} {joined}" if writer.run_on else f"{greeting}\n\n{joined}"
    signoff = writer.words["signoff"]
    end = f"{signoff}\n{writer.name}" if writer.name else signoff
    if writer.postscript:
        end += f"\n\nPS {styled(writer, rng, writer.words['closer'])}"
    text = f"{start}\n\n{end}"
    return text.lower() if writer.lower else text


def _asked(asks: list[str], rng: Random) -> str:
    style = rng.random()
    if style < 0.65:
        return " ".join(f"{capitalised(ask).rstrip('?')}." for ask in asks)
    if style < 0.8:
        return "; ".join(asks)
    if style < 0.9:
        return ", and ".join(asks)
    return "\n".join(f"- {ask}" for ask in asks)


def _listed(parts: list[str], rng: Random) -> str:
    joined = rng.choice((", ", ", ", "; ", " and ")).join(parts)
    return joined[:1].upper() + joined[1:] if rng.random() < 0.7 else joined


def _companion(rng: Random) -> str:
    return Filling(rng, {}).fill("{companion}")

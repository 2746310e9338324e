"""What a text is said to have in common with the letters that were read for it."""

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Quoted
from edge_app.privacy.guard.history import index_of
from edge_app.privacy.guard.words import words_of
from edge_app.privacy.reading import QuoteReader, Quotes, body_of
from models.prompts import Request
from tests.edge_app.privacy import messages

TERMS = MethodSettings().terms()
REQUEST = Request("Tell Ona that the boat is mended.", "email", "Ona")
LETTER = (
    "Dear old Ona,\n\nI will be there and it will be for us to say. "
    "Ring Marguerite Quillfeather about the varnish. It is what it is, as they say.\n\n"
    "All my love from the hill,\nBram"
)


def ids(text):
    """Text as tokens of a letter each."""
    return tuple(map(ord, text))


def words(token_ids):
    return "".join(map(chr, token_ids))


def opening(text=""):
    return messages.opening(TERMS, ids("Write an email."), ids(text))


def block(position, text):
    return messages.block(TERMS, position, ids(text))


def quoted(*sent, letters=(LETTER,), request=REQUEST, reader=None):
    """All that is told while these messages leave."""
    told = []
    index = index_of(letters, f"{request.recipient}\n{request.text}", own=letters)
    quotes = Quotes(index, request, letters)
    hear = (reader or QuoteReader()).beside(quotes, words, told.append)
    for event in sent:
        hear(event)
    return [event for event in told if isinstance(event, Quoted)]


def blocks(text, size=16, at=0):
    """Messages with a text in pieces that are cut anywhere."""
    return [
        block(at + start, text[start : start + size])
        for start in range(0, len(text), size)
    ]


@pytest.mark.parametrize("size", [3, 8, 16])
def test_a_run_over_several_messages_is_one_phrase(size):
    """Each message shows more of it; it stays one, and so it does where a part of it
    is sent again, in other words behind a refusal."""
    text = "So I will be there and it will be for"
    again = [block(33, " for me"), block(33, " for us"), block(0, "I hope")]
    *_, last = quoted(opening(), *blocks(text, size), *again)

    assert last == Quoted(("i will be there and it will be for us",), ())


@pytest.mark.parametrize("size", [3, 7])
def test_what_left_in_bytes_is_read_over_characters_that_frames_cut(size):
    """Behind an opening in tokens that was refused."""
    letter = "Für Zoë gibt es süßen Käse und für uns Brot. Frag Håkon Ørsted danach."
    data = b"So " + letter.encode()
    sent = [
        messages.block_in_bytes(TERMS, at, data[at : at + size])
        for at in range(0, len(data), size)
    ]
    first = messages.opening_in_bytes(TERMS, "Write an email.")
    *_, last = quoted(opening("So"), first, *sent, letters=[letter])
    assert last.facts == (" ".join(word.folded for word in words_of(letter)),)


def test_greetings_sign_offs_and_words_of_the_request_are_no_news():
    letter = LETTER.replace("It is what it is", "I say that the boat is mended")
    text = (
        "Dear old Ona, I could say that the boat is mended.\n\n"
        "All my love from the hill,\nBram"
    )
    assert quoted(opening(), *blocks(text), letters=[letter]) == [Quoted((), ())]


def test_names_and_numbers_are_facts():
    """Once each, though they left twice; what is in the request is none."""
    text = "Ona, ring Marguerite Quillfeather. Marguerite Quillfeather it is."
    *_, last = quoted(opening(), *blocks(text))

    assert last.facts == ("Marguerite Quillfeather",)
    request = Request("Ring Marguerite Quillfeather", "email", "Ona")
    *_, last = quoted(opening(), *blocks(text), request=request)
    assert last.facts == ()


def test_a_text_counts_its_own_messages_alone():
    """Another version says nothing of the one before, in its session or in a new one;
    one that goes on from a text tells of that with its opening."""
    reader, said = QuoteReader(), "I will be there and it will be for us"
    assert quoted(opening(), *blocks(said), reader=reader)[-1].stock
    assert quoted(*blocks("We are well."), reader=reader) == [Quoted((), ())]
    assert quoted(opening(), *blocks("Oh, hello."), reader=reader) == [Quoted((), ())]
    (only,) = quoted(opening(said + " all."), reader=reader)
    assert only.stock == ("i will be there and it will be for us",)


def test_what_a_prompt_gives_away_is_seen():
    (only,) = quoted(messages.opening(TERMS, ids(LETTER)))
    assert "marguerite quillfeather" in " ".join(only.facts).casefold()


@pytest.mark.parametrize(
    ("letter", "body"),
    [
        ("Hi Tom,\n\nDone. See you there.\n\nBest\nK", "Done. See you there."),
        ("Hullo Ana, the tea was cold. Best, Tess", "the tea was cold."),
        ("Mrs. Oda!\nWhere is it?\n— J", "Where is it?"),
        (
            "It rained. I will bring the plum jam",
            "It rained. I will bring the plum jam",
        ),
        ("word" * 2000, "word" * 2000),
        ("", ""),
    ],
)
def test_the_body_of_a_letter(letter, body):
    assert body_of(letter).strip() == body

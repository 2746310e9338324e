"""What the models are asked, word for word: the templates of the papers."""

import pytest

from benchmarks.quality.sets import TEMPLATES, best, read_sets, shortened
from decoding_core.errors import ContextFullError

NAMED = {one.name: one for one in TEMPLATES}

ENTRIES = {
    "LaMP-1": ({"title": "T", "abstract": "A"}, '"T"'),
    "LaMP-2": (
        {"description": "D", "tag": "comedy"},
        'the tag for the movie: "D" is "comedy" ',
    ),
    "LaMP-2 news": (
        {"text": "X", "title": "T", "category": "crime"},
        'the category for the article: "X" is "crime" ',
    ),
    "LaMP-3": ({"text": "X", "score": "4"}, '4 is the score for "X" '),
    "LaMP-4": ({"text": "X", "title": "T"}, '"T" is the title for "X" '),
    "LaMP-5": ({"abstract": "A", "title": "T"}, '"T" is a title for "A" '),
    "LaMP-6": ({"text": "X", "title": "T"}, '"T" is the title for "X" '),
    "LaMP-7": ({"text": "X"}, '"X" '),
    "LongLaMP abstract": (
        {"abstract": "A", "title": "T"},
        '"A" is the abstract for the title "T"',
    ),
    "LongLaMP review": (
        {"overall": "5.0", "summary": "S", "description": "D", "reviewText": "X"},
        '"5.0" is a rating for the product with description "D". '
        '"S" is summary for "X" ',
    ),
    "LongLaMP topic": (
        {"summary": "S", "content": "X"},
        '"S" is a summary for "X" ',
    ),
    "LongLaMP email": ({"text": "X", "title": "T"}, '"T" is the title for "X" '),
}
JOINED = {
    "LaMP-2": "a, and b. ask",
    "LaMP-2 news": "a, and b. ask",
    "LaMP-3": "a, and b. ask",
    "LaMP-4": "a, and b. ask",
    "LaMP-5": "a, and b. Following the given patterns ask",
    "LaMP-6": "a, and b. ask",
    "LaMP-7": "a, and b are written by a person. Following the given patterns ask",
    "LongLaMP abstract": (
        "a, and b. Use the above abstracts as context to understand the style and "
        "language of the user and, ask"
    ),
    "LongLaMP review": "a, and b. Following the given patterns ask",
    "LongLaMP topic": "a, and b. Following the given patterns, ask",
    "LongLaMP email": "a, and b. ask",
}


@pytest.mark.parametrize("name", NAMED)
def test_the_prompt_of_one_entry(name):
    """As published; braces in a text are nothing special."""
    entry, expected = ENTRIES[name]
    template = NAMED[name]
    assert template.shown(entry) == expected
    braced = template.shown({**entry, template.long: "{x}"}, "{y}")
    assert "{y}" in braced


@pytest.mark.parametrize("name", JOINED)
def test_the_prompt_of_all_entries(name):
    """As published; without entries, the input alone."""
    assert NAMED[name].whole("ask", ["a", "b"]) == JOINED[name]
    assert NAMED[name].whole("ask", []) == "ask"


def test_citations_go_after_the_title():
    """The one task whose entries stand inside the input."""
    asked = 'For an author who has written the paper with the title "P", which?'
    whole = NAMED["LaMP-1"].whole(asked, ['"A"', '"B"'])
    assert whole == (
        'For an author who has written the paper with the title, and "A", and "B" '
        '"P", which?'
    )


def test_the_older_names_of_a_topic():
    """Some releases call summary and content input and output."""
    template = NAMED["LongLaMP topic"]
    entry = {"input": "S", "output": "X"}
    assert template.fits("Generate the content for a reddit post P", entry)
    assert template.shown(entry) == '"S" is a summary for "X" '


def test_the_public_prompt_is_the_question_alone(data, room, read):
    """Of every format; what only the device knows stands in the other."""
    for query in read_sets([data, data / "lamp"]):
        public, private = read(query, room())
        assert public == f"<user>{query.asked}<assistant>"
        assert private != public
        assert query.asked.split()[-1] in private


def test_entries_are_looked_for_as_published(data):
    """BM25 between spaces, on the part of the input that varies."""
    asked = "Generate a headline for the following article: ice pond band"
    profile = [
        {"title": "Soup", "text": "a pot of soup"},
        {"title": "Cold", "text": "the band on the pond"},
        {"title": "Keys", "text": "a drawer of keys"},
        {"title": "Mill", "text": "past the old wheel"},
        {"title": "Gates", "text": "colours and horses"},
    ]
    row = {"profile": profile}
    (found,) = best(NAMED["LaMP-4"], asked, row, "", 1)
    assert found["title"] == "Cold"
    assert NAMED["LaMP-4"].query(asked) == "ice pond band"
    citation = 'with the title "A", which? [1]: "B" [2]: "C"'
    assert NAMED["LaMP-1"].query(citation) == "B C"


def test_entries_chosen_before_are_taken_as_they_are(data, room, read):
    """`top_5`, in its order."""
    (query,) = read_sets([data / "longlamp_topic.jsonl"])
    _, private = read(query, room(passages=1))
    assert "seven rows" in private
    assert "kettle" not in private


def test_no_entries_are_the_bare_question(data, room, read):
    """With --passages 0 both prompts are alike."""
    (query,) = read_sets([data / "longlamp_review.jsonl"])
    public, private = read(query, room(passages=0))
    assert public == private


def test_room_is_shared_evenly_and_passed_on(room):
    """What a short entry does not need goes to those after it."""
    entries = [{"text": "short", "title": "T"}, {"text": "x" * 500, "title": "T"}]
    template = NAMED["LaMP-4"]
    first, second = shortened(template, entries, 300, room())
    assert first == '"T" is the title for "short" '
    alone = shortened(template, entries[1:], 150, room())[0]
    assert len(alone) < len(second)
    assert len(first) + len(second) + 4 <= 300


@pytest.mark.parametrize("limit", range(150, 900, 50))
def test_prompts_never_exceed_their_room(data, room, limit):
    """The entries shrink; where the question alone is too long, it is said."""
    for query in read_sets([data, data / "lamp"]):
        try:
            prompts = query.prompts(room(limit))
        except ContextFullError:
            longest = len(f"<user>{query.asked}<assistant>")
            assert longest > limit
            continue
        assert max(len(prompts.public_ids), len(prompts.private_ids)) <= limit

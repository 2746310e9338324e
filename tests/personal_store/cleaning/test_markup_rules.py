"""What the HTML of a mail says: quotes by their marks, and text as a reader sees it."""

import tomllib
from pathlib import Path

from personal_store.cleaning.cleaning import Cleaned, clean_mail
from personal_store.cleaning.markup import has_marks, own_text, read_page
from personal_store.mail.mail import Mail
from tests.waiting import no_hang

PIECES = tomllib.loads(Path(__file__).with_name("markup.toml").read_text("utf-8"))
QUOTE = "<div>Will you come?</div>"


def clean(html, plain=""):
    return clean_mail(Mail({}, plain, html))


def test_marked_words_of_others_go():
    """Whatever the language of the words around them."""
    pages = [f"<div>Gladly.</div>{foreign}" for foreign in PIECES["foreign"]]
    assert [page for page in pages if clean(page) != Cleaned("Gladly.", True)] == []


MINE = (
    "<div>My line:</div><blockquote style='margin:0 0 0 40px;border:none'>"
    "the sea does not answer</blockquote>"
)


ANSWERED = {
    # after one introduction all that is indented is quoted
    '<div>3.5.2023, 10:12, "O" &lt;o@example.ru&gt;:</div><blockquote>One?</blockquote>'
    "<div>Yes.</div><blockquote>Two?</blockquote><div>No.</div>": "Yes.\nNo.",
    # Gmail wraps the whole conversation in one block, with the answers inside
    '<div dir="ltr">Hi.<div class="gmail_quote"><div class="gmail_attr">On Mon, Anna '
    "wrote:</div><blockquote class='gmail_quote'>Can you come?</blockquote><div>Yes, "
    "gladly.</div><blockquote class='gmail_quote'>And Bo?</blockquote><div>No, he is "
    "ill.</div></div></div>": "Hi.\nYes, gladly.\nNo, he is ill.",
    # an indented text of one's own
    MINE: "My line:\nthe sea does not answer",
    f"{MINE}<div>I like it.</div>": "My line:\nthe sea does not answer\nI like it.",
    # a hidden element may mark a quote
    f'<p>Yes.</p><div id="appendonsend" style="display:none"></div>{QUOTE}': "Yes.",
}


def test_own_words_between_and_above_quotes_stay():
    assert {html: clean(html).text for html in ANSWERED} == ANSWERED


READ = {
    "<div>Hi,</div><div><br></div><div>one<br>two</div><p>three</p><p>four</p>": (
        "Hi,\n\none\ntwo\n\nthree\n\nfour"
    ),
    "<ul><li>a</li><li>b</li></ul><pre>x\ny</pre>": "- a\n- b\nx\ny",
    "<div>one<br></div><div>two</div>": "one\ntwo",
    "<div>one</div><div><br></div><div>two</div>": "one\n\ntwo",
    "<p>one\r\n\t two  three</p>": "one two three",
    '<a title="a > b">link</a> <!-- no <b> --> &lt;b&gt;': "link <b>",
    "<style>p{}</style><script>x()</script><p>Yes.</p>": "Yes.",
    '<p style="color:#fff">White letters are read.</p>': "White letters are read.",
}


def test_the_text_is_what_a_reader_sees():
    assert {html: own_text(html) for html in READ} == READ


def test_a_mark_counts_in_a_long_mail_too():
    """Its tags are looked at alone: what is said about a quote marks none."""
    long = "<p>We talked about it.</p>" * 3_000
    quote = f"<blockquote type='cite'>{QUOTE}</blockquote>"

    assert has_marks(long + quote)
    assert has_marks(f"{long}<div\ntitle='a > b' class=gmail_quote>x</div>")
    assert has_marks(f"{long}<div class=gmail_quote title='a<b'>x</div>")
    assert not has_marks(f"{long}<p>a blockquote of gmail_quote</p>")


def test_a_plain_part_loses_what_the_html_marks():
    """In any language. Short lines beside a quoted one go with it; own lines it repeats
    stay."""
    basque = "Zure txostena noiz bidaliko didazu galdetu nahi nuen"
    html = f"<p>Bihar.</p><blockquote type='cite'>{basque}</blockquote>"
    assert clean(html, f"Bihar.\n\n{basque}") == Cleaned("Bihar.", True)
    asked = "Could you bring the long cable?"
    quote = f"<blockquote type='cite'>{asked}<br>It broke.</blockquote>"
    html = f"<p>Tomorrow.</p>{quote}"
    assert clean(html, f"Tomorrow.\n\n{asked}\nIt broke.\n").text == "Tomorrow."
    left = clean(f"{html}<p>{asked} you ask.</p>", f"Tomorrow.\n\n{asked}\nyou ask.")
    assert left.text.endswith(f"{asked}\nyou ask.")


def test_what_html_hides_is_not_read_and_what_a_reader_sees_stays():
    for kind, seen in (("hidden", []), ("shown", ["y"])):
        pages = [f"<p>Seen one.</p>{it}<p>Seen two.</p>" for it in PIECES[kind]]
        words = ["Seen", "one.", *seen, "Seen", "two."]
        assert [page for page in pages if own_text(page).split() != words] == []


def test_hostile_styles_take_no_long_time():
    for page in (
        "<style>" + "@{" * 200_000 + "display:none",
        "<style>" + "a" * 900_000 + "display:none",
        "<style>" + "/*" * 400_000 + "display:none",
        '<p style="font-size:0">' * 9_000 + "x",
        f'<p style="display:none;{"color:rgb(" * 80_000}">x',
    ):
        with no_hang():
            read_page(page)

"""What the HTML of a mail says: quotes by their marks, and text as a reader sees it."""

import pytest

from personal_store.cleaning.cleaning import clean_mail
from personal_store.cleaning.markup import has_marks, own_text, read_page
from personal_store.mail.mail import Mail
from tests.waiting import no_hang

QUOTE = "<div>Will you come?</div>"


def clean(html, plain=""):
    return clean_mail(Mail({}, plain, html))


@pytest.mark.parametrize(
    "foreign",
    [
        f'<blockquote type="cite">{QUOTE}</blockquote>',
        f'<div class="gmail_quote">Xu gropravs:<blockquote class="gmail_quote">{QUOTE}'
        "</blockquote></div>",
        f'<div class="gmail_quote">Xu gropravs{QUOTE}</div>',
        '<div class="gmail_quote"><div class="gmail_attr">---------- Xu ---------<br>'
        f"Xa: b<br></div>{QUOTE}</div>",
        f'<div id="appendonsend"></div><div id="divRplyFwdMsg">Xu</div>{QUOTE}',
        "<div style='border:none;border-top:solid #ABCDEF 1pt'><b>Xa:</b> a<br>"
        f"<b>Xe:</b> b<br><b>Xi:</b> c</div>{QUOTE}",
        f'<div class="ydpab12yahoo_quoted">{QUOTE}</div>',
        f'<div class="protonmail_quote">{QUOTE}</div>',
        f'<hr id="zwchr" data-marker="__DIVIDER__">{QUOTE}',
        f'<div name="quote">{QUOTE}</div>',
        f'<div>3.5.2023, 10:12, "O" &lt;o@example.ru&gt;:</div><blockquote>{QUOTE}'
        "</blockquote>",
        f"<blockquote>{QUOTE}</blockquote>",
        '<div class="gmail_signature">Uma, Bergen</div>',
        f'<br><div class="AppleOriginalContents"><br>Xu gropravs:{QUOTE}</div>',
    ],
)
def test_marked_words_of_others_go(foreign):
    """Whatever the language of the words around them."""
    cleaned = clean(f"<div>Yes, gladly.</div>{foreign}")

    assert cleaned.text == "Yes, gladly."
    assert cleaned.trimmed


def test_answers_between_indented_texts_stay():
    """After one introduction all that is indented is quoted."""
    html = (
        '<div>3.5.2023, 10:12, "O" &lt;o@example.ru&gt;:</div><blockquote>One?'
        "</blockquote><div>Yes.</div><blockquote>Two?</blockquote><div>No.</div>"
    )

    assert clean(html).text == "Yes.\nNo."


def test_answers_between_gmail_quotes_stay():
    """Gmail wraps the whole conversation in one block, with the answers inside."""
    html = (
        '<div dir="ltr">Hi.<div class="gmail_quote"><div class="gmail_attr">On Mon, '
        "Anna wrote:</div><blockquote class='gmail_quote'>Can you come?</blockquote>"
        "<div>Yes, gladly.</div><blockquote class='gmail_quote'>And Bo?</blockquote>"
        "<div>No, he is ill.</div></div></div>"
    )

    assert "".join(clean(html).text.split()) == "Hi.Yes,gladly.No,heisill."


def test_an_own_indented_text_stays():
    html = (
        "<div>My line:</div><blockquote style='margin:0 0 0 40px;border:none'>"
        "the sea does not answer</blockquote><div>I like it.</div>"
    )

    assert clean(html).text == "My line:\nthe sea does not answer\nI like it."
    ends = html.removesuffix("<div>I like it.</div>")
    assert clean(ends).text == "My line:\nthe sea does not answer"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<div>Hi,</div><div><br></div><div>one<br>two</div><p>three</p><p>four</p>",
         "Hi,\n\none\ntwo\n\nthree\n\nfour"),
        ("<ul><li>a</li><li>b</li></ul><pre>x\ny</pre>", "- a\n- b\nx\ny"),
        ("<div>one<br></div><div>two</div>", "one\ntwo"),
        ("<div>one</div><div><br></div><div>two</div>", "one\n\ntwo"),
        ("<p>one\r\n\t two  three</p>", "one two three"),
        ('<a title="a > b">link</a> <!-- no <b> --> &lt;b&gt;', "link <b>"),
        ("<style>p{}</style><script>x()</script><p>Yes.</p>", "Yes."),
        ('<p style="color:#fff">White letters alone are read.</p>',
         "White letters alone are read."),
    ],
)  # fmt: skip
def test_the_text_is_what_a_reader_sees(html, text):
    assert own_text(html) == text


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
    cleaned = clean(html, f"Bihar.\n\n{basque}")
    assert (cleaned.text, cleaned.trimmed) == ("Bihar.", True)
    plain = "Tomorrow.\n\nCould you bring the long cable?\nIt broke.\n"
    html = (
        "<p>Tomorrow.</p><blockquote type='cite'>Could you bring the long cable?<br>"
        "It broke.</blockquote>"
    )

    assert clean(html, plain).text == "Tomorrow."
    repeated = "Could you bring the long cable?"
    again = f"{html}<p>{repeated} you ask.</p>"
    assert clean(again, f"Tomorrow.\n\n{repeated}\nyou ask.").text.endswith(
        f"{repeated}\nyou ask."
    )


def test_the_page_says_what_it_cut():
    page = read_page(f"<p>Yes.</p><blockquote type='cite'>{QUOTE}</blockquote>")

    assert "Will you come?" in page.foreign
    assert "Will" not in page.own


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">x</div>',
        '<div style="DISPLAY : none !important"><p style="display:block">x</p></div>',
        '<p style="visibility: hidden">x</p>',
        '<span style="font-size:0px;color:red">x</span>',
        '<div style="font-size:1px;line-height:1px">x</div>',
        '<div style="mso-hide:all">x</div>',
        "<p hidden>x</p>",
        '<div style="max-height:0;overflow:hidden">x</div>',
        '<div style="width:0;height:0;overflow:hidden">x</div>',
        '<div style="opacity:0">x</div>',
        '<p style="color:#FFF;background-color:#ffffff">x</p>',
        '<p style="color:rgb(255, 255, 255);background:white">x</p>',
        '<table bgcolor="white"><tr><td><font color="#FFFFFF">x</font></table>',
        '<p style="color:transparent">x</p>',
        '<div style="position:absolute;left:-9999px">x</div>',
        '<p style="text-indent:-9999px">x</p>',
        "<style>/* a */ .a, .b {display:none !important}</style><p class=b>x</p>",
        "<style>.a {max-height:0; overflow:hidden}</style><p class=a>x</p>",
        "<style>#a{Opacity:0}</style><p id=a>x</p>",
        '<p style="color:white">x</p>',
        '<font color="#fefefe">x</font>',
        '<p style="color:rgba(9,9,9,0)">x</p>',
        '<body style="background:#e8e8e8"><p style="color:#E8E8E8">x</p>',
        "<table bgcolor=navy><td><font color=navy>x</font></table>",
        "<style>.w{color:#fff}</style><p class=w>x</p>",
        "<style>.n{background:navy} .w{color:navy}</style><p class=n><b class=w>x</b>",
        "<select><option>x<option>x</select>",
        "<object data=a.swf>x</object>",
        "<dialog><p>x</p></dialog>",
        '<p style="transform: scale(0)">x</p>',
        '<p style="transform:rotate(3deg) scaleY(0.0)">x</p>',
        '<p style="scale:0">x</p>',
        "<style>.t{font-size:0}</style><p class=t>x</p>",
        "<style><!-- p.t{font-size:0px} --></style><p class=t>x</p>",
        "<style>@import url(a.css); .g{display:none}</style><p class=g>x</p>",
        "<style>td .g, a > .h{visibility:hidden}</style><table><td><b class=g>x</b>",
    ],
)
def test_what_html_hides_is_not_read(hidden):
    page = f"<p>Seen one.</p>{hidden}<p>Seen two.</p>"

    assert own_text(page) == "Seen one.\n\nSeen two."


@pytest.mark.parametrize(
    "shown",
    [
        '<div style="font-size:0"><p style="font-size:13px">y</p></div>',
        '<div style="visibility:hidden"><p style="visibility:visible">y</p></div>',
        "<style>@media print {.a{color:red} .b{display:none}}</style><p class=b>y</p>",
        '<p style="opacity:0.5">y</p>',
        '<p style="font-size:0.9em">y</p>',
        '<p style="color:#fff;background:#000">y</p>',
        '<p style="color:white;background-image:url(x.png)">y</p>',
        '<table background="x.png"><td><font color="white">y</font></table>',
        '<p style="color:white"><b style="color:navy">y</b></p>',
        "<style>.d{background:#123} .w{color:#fff}</style><p class=d><b class=w>y</b>",
        "<style>.d::a, .d:hover{background:#123}</style><p style='color:#fff'>y</p>",
        "<style>.g{display:none} .g{display:block}</style><p class=g>y</p>",
        '<style>.t{font-size:0}</style><p class=t style="font-size:12px">y</p>',
        "<style>.t{font-size:0}</style><p class=t><b style='font-size:9pt'>y</b></p>",
        '<p style="transform:scale(0.9)">y</p>',
        "<dialog open>y</dialog>",
        '<p style="max-height:0">y</p>',
        '<table bgcolor="#fff"><td bgcolor="#000"><font color="white">y</font></table>',
        '<p style="color:#fff;background:#fff url(x.png)">y</p>',
        '<p style="text-decoration:none;border:none;overflow:hidden">y</p>',
        '<p aria-hidden="true">y</p>',
        '<p style="text-indent:-18pt">y</p>',
    ],
)
def test_what_a_reader_sees_stays(shown):
    page = f"<p>Seen one.</p>{shown}<p>Seen two.</p>"

    assert own_text(page).split() == ["Seen", "one.", "y", "Seen", "two."]


def test_hidden_elements_still_mark_quotes():
    page = f'<p>Yes.</p><div id="appendonsend" style="display:none"></div>{QUOTE}'

    assert clean(page).text == "Yes."


@pytest.mark.parametrize(
    "page",
    [
        "<style>" + "@{" * 200_000 + "display:none",
        "<style>" + "a" * 900_000 + "display:none",
        "<style>" + "/*" * 400_000 + "display:none",
        '<p style="font-size:0">' * 9_000 + "x",
        f'<p style="display:none;{"color:rgb(" * 80_000}">x',
    ],
)
def test_hostile_styles_take_no_long_time(page):
    with no_hang():
        read_page(page)

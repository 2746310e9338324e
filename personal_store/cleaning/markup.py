"""HTML to text, and the quotes and signatures that mail programs mark in the HTML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from personal_store.cleaning.quotes import HARD, SOFT

MAX_HTML = 1_000_000  # characters of HTML that are looked at

_LONG_HTML = 50_000  # bytes
_MAX_QUOTES = 100
_MAX_BARE = 10
_INVISIBLE = (
    "script, style, title, template, select, datalist, object, iframe, audio, video"
    ", canvas, dialog:not([open])"
)
_UNSEEN = re.compile("<(?:scr|sty|ti|tem|se|dat|ob|if|au|vi|ca|di)", re.IGNORECASE)
_QUOTES = """
    blockquote.gmail_quote, blockquote.x_gmail_quote, .gmail_attr, .x_gmail_attr,
    .gmail_quote_attribution, blockquote[type=cite], blockquote[cite], blockquote.cite2,
    .moz-cite-prefix, .moz-forward-container, [class*=yahoo_quoted], [id*=yahoo_quoted],
    .protonmail_quote, .tutanota_quote, .zmail_extra, .mailru-blockquote,
    .mail-quote-collapse, #mail-app-auto-quote, .quoteHeader, #isForwardContent,
    #isReplyContent, [name=quote], [name=quoted-content],
    [name=messageReplySection] blockquote, #OLK_SRC_BODY_SECTION, #reply-intro,
    #v1reply-intro, #qt, .front-blockquote, .missive_quote, .airmail_on,
    .polymail_quote, .AppleOriginalContents, .spark_quote,
    .ms-outlook-mobile-reference-message,
    #mail-editor-reference-message-container, .iwcQuote, .quote[style*=line-height]
"""
_SIGNATURES = """
    .gmail_signature, .x_gmail_signature, [data-smartmail=gmail_signature],
    .gmail_signature_prefix, .moz-signature, #Signature, #signature, #x_Signature,
    #AppleMailSignature, [id^=ms-outlook-mobile-signature],
    #ms-outlook-mobile-body-separator-line, .protonmail_signature_block,
    .tutanota_signature, [data-signature-widget], [id*='-Sgn'], [id^=Zm-_Id_], #_rc_sig,
    #composer_signature, [name=messageSignatureSection], .sh-signature, .bloop_sign,
    .front-signature, .missive_signature, [class*=signature-ydp],
    [class$=signature][class^=ydp], signature, [id^=DAB4FAD8], [id^=sig][id$='0'],
    div[id^=sig][class=signature]
"""
# From here to the end of the message everything is somebody else's.
_TAILS = """
    [id$=appendonsend], [id$=divRplyFwdMsg], hr[id$=stopSpelling],
    hr[data-marker=__DIVIDER__], #zwchr, [data-marker=__HEADERS__]
"""
_INDENTED = "blockquote[style*='border:none' i], blockquote[style*='border: none' i]"
_RULED = "[style*='order-top' i], [style*='order-style' i], [style*='order-width' i]"
_RULED_STYLE = re.compile(
    r"border-top:[^;\"]*solid|border-style:\s*solid none none"
    r"|border-width:\s*1pt medium"
    r"|border-top:\s*(?!none)\w",
    re.IGNORECASE,
)
_MARKERS = (
    b"quote", b"moz-", b"yahoo_", b"zmail_", b"olk_src", b"reply-intro", b"rplyfwd",
    b"appendonsend", b"border-top", b"stopspelling", b"reference-message", b"signature",
    b"appleoriginalcontents", b"isforwardcontent", b"isreplycontent", b"__divider__",
    b"__headers__", b"zwchr", b"border-style:solid none", b'id="qt"', b"-sgn",
    b"_rc_sig", b"dab4fad8", b"iwcq", b"bloop_sign", b"airmail_on", b"messagesignature",
    b"border-width:1pt medium",
)  # fmt: skip

# What an HTML body holds if it may hide something.
_HIDING = (
    *("display:none", "visibility:", "mso-hide", "opacity:0", "font-size:0", "font:0"),
    *("font-size:1p", "height:0", "width:0", "-999", "clip:", "transparent", "scale"),
    *("background", "bgcolor", "hidden", "color:rgb", "color:hsl", "color:snow"),
    *(f"color{mark}{pale}" for mark in (":", "=", '="', "='") for pale in ("#f", "w")),
)
_TINY = re.compile(r"(?:0?\.\d+|1|1\.0+)(?:px|pt)|0+(?:\.0+)?(?:px|pt|r?em|%)?")
_ZERO = re.compile(r"0+(?:\.0+)?(?:px|pt|r?em|%)?")
_FAR = re.compile(r"-\d{3,}(?:px|pt)|-\d{2,}r?em")
_TO_NOTHING = re.compile(r"\bscale[xy3d]{0,2}\((?:[\d. ]*,)*\s*0*(?:\.0+)?\s*[,)]")
_SIZE = re.compile(r"(?:^|\s)(0(?=[/\s])|[\d.]+(?:p[xt]|r?em|%))")
_COLOR = re.compile(
    r"#([0-9a-f]{3,8})\b|(rgb|hsl)a?\(([^()]{5,60})\)|(?<![\w(-])([a-z]{3,22})(?![\w(-])"
)
_NO_COLOR = re.compile(
    r"(?:none|in(?:herit|itial)|unset|revert|currentcolor|auto|important|repeat|scroll"
    r"|fixed|local|center|left|right|top|bottom|cover|contain)"
)
_NAMED_COLORS = {
    **dict.fromkeys(("white", "window", "canvas"), "ffffff"),
    "black": "000000",
    "snow": "fffafa",
    "ivory": "fffff0",
    "azure": "f0ffff",
    "ghostwhite": "f8f8ff",
    "floralwhite": "fffaf0",
    "whitesmoke": "f5f5f5",
}
_WHITE, _TRANSPARENT = "ffffff", "transparent"
_ALIKE = 12  # by how much each third of two colours differs at most that look alike
_MAY_STYLE = re.compile(
    "display|mso-hide|opacity|overflow|position|indent|color|background|font|visib|scale",
    re.IGNORECASE,
)
_ONE = r"[\w.#*-]+"
_SIMPLE = re.compile(rf"{_ONE}(?:\s*[\s>]\s*{_ONE}){{0,3}}")
_CSS_MARKS = re.compile(r"<!--|-->|@(?:import|charset)[^;{]*;")
_MAX_RULES = 1_000

_BREAK, _BLOCK, _PARAGRAPH, _IN, _OUT = "\n\x01\x02\x03\x04"
_PARAGRAPHS = ("p", "h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (
    *("div", "tr", "table", "ul", "ol", "dt", "dd", "pre", "section", "article"),
    *("header", "footer", "center", "address", "tbody", "form", "dl", "body"),
)
_WRITTEN = (
    {f"{slash}{tag}": _PARAGRAPH for tag in _PARAGRAPHS for slash in ("", "/")}
    | {f"{slash}{tag}": _BLOCK for tag in _BLOCKS for slash in ("", "/")}
    | {"br": _BREAK, "hr": _BREAK, "/td": "\t", "/th": "\t"}
    | {"li": f"{_BLOCK}- ", "/li": _BLOCK}
    | {"blockquote": f"{_BLOCK}{_IN}", "/blockquote": f"{_OUT}{_BLOCK}"}
)
"""What is written in place of a tag; nothing for others."""

_VOID = frozenset({"br", "img", "hr", "meta", "link", "input", "col", "wbr", "area"})
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_ANY_TAG = re.compile(r"<[^<>]*>?")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_SERIALISED = re.compile(r"<(/?[\w:-]+)[^>\"]*(?:\"[^\"]*\"[^>\"]*)*>")
_PRE = re.compile(r"<pre\b.*?</pre>", re.DOTALL)
_MANY_TAGS = 20_000
_DEEPEST = 10_000
_SPACES = re.compile(" {2,}")
_GAP = re.compile(r"[ \t]*[\n\x01\x02][ \t\n\x01\x02]*")


@dataclass(frozen=True, slots=True)
class Page:
    """What an HTML body says."""

    own: str
    """The text as a reader sees it, without marked quotes and signatures. `HARD`
    stands where a quote was, and `SOFT` before lines that are indented."""
    foreign: str
    """The words that the mail program itself marked as somebody else's or a footer."""


def read_page(html: str) -> Page:
    """An HTML body, parsed once."""
    html = html[:MAX_HTML]
    if html.count("<") > _MANY_TAGS and _depth(html) > _DEEPEST:
        html = _ANY_TAG.sub(" ", html)
    tree = LexborHTMLParser(html)
    styles: dict[int, dict[str, str]] = {}
    ground = _WHITE
    if _UNSEEN.search(html):
        styles, ground = _style_sheets(tree)
        for node in tree.css(_INVISIBLE):
            node.decompose()
    foreign: list[str] = []
    if has_marks(html):
        foreign = _cut_tails(tree) + _cut_quotes(tree)
        for node in tree.css(_SIGNATURES):
            foreign.append(node.text(separator=" "))
            node.decompose()
    packed = html.lower().replace(" ", "")
    if any(map(packed.__contains__, _HIDING)):
        _cut_hidden(tree, styles, ground)
    if "<blockquote" in html and "border" in html:
        for node in tree.css(_INDENTED):
            node.unwrap()
    body = tree.body
    return Page(_text(body.html or "") if body is not None else "", "\n".join(foreign))


def own_text(html: str) -> str:
    """Text of the HTML as a reader sees it, without marked quotes and signatures."""
    return read_page(html).own.replace(SOFT, "").replace(HARD, "")


def has_marks(html: str) -> bool:
    """Whether the HTML marks a quote or a signature, so that it says more about quotes
    than the plain text.

    Bytes are searched faster, and one search a word faster than one for all. A long
    page is searched inside its tags, few of which are distinct.
    """
    data = html[:MAX_HTML].encode("utf-8", "replace")
    if not any(map(data.lower().__contains__, _MARKERS)):
        return False
    if len(data) <= _LONG_HTML:
        return True
    pieces = data.split(b"<")
    inside = b"<".join({piece.rpartition(b">")[0] or piece for piece in pieces})
    return any(map(inside.lower().__contains__, _MARKERS))


def above_marks(html: str) -> str | None:
    """The words before the first marked quote or signature; None without a mark."""
    if not has_marks(html):
        return None
    data = html[:MAX_HTML].encode("utf-8", "replace")
    found = [at for at in map(data.lower().find, _MARKERS) if at >= 0]
    return visible(data[: min(found)].rpartition(b"<")[0].decode("utf-8", "replace"))


def visible(html: str) -> str:
    """The words of a piece of HTML; quick and rough."""
    return unescape(_ANY_TAG.sub(" ", _COMMENT.sub(" ", html)))


def _depth(html: str) -> int:
    """How deep elements nest; the parser needs minutes for 100,000 levels."""
    depth = deepest = 0
    for slash, name in _TAG.findall(html):
        if name.lower() not in _VOID:
            depth += -1 if slash else 1
            deepest = max(deepest, depth)
    return deepest


def _style_sheets(tree: LexborHTMLParser) -> tuple[dict[int, dict[str, str]], str]:
    """What the style sheets of a page declare: properties by element, and the colour
    of the page, empty if rules that are not understood may set it.

    Only rules with simple selectors are read; the last of them is the first in rank.
    """
    declared: dict[int, dict[str, str]] = {}
    ground = _WHITE
    for sheet in tree.css("style"):
        first, *others = _CSS_MARKS.sub("", sheet.text()).split("/*")
        css = first + "".join(other.partition("*/")[2] for other in others)
        nested = False  # in rules for some screens, or for print
        for rule in css.split("}")[:_MAX_RULES]:
            selectors, brace, style = rule.rpartition("{")
            nested = bool(brace) and (nested or "{" in selectors)
            if not _MAY_STYLE.search(style):
                continue
            said = _declared(style)
            for selector in map(str.strip, selectors.split(",")[:_MAX_RULES]):
                if not nested and _SIMPLE.fullmatch(selector):
                    for node in tree.css(selector):
                        declared.setdefault(node.mem_id, {}).update(said)
                elif "background" in style:
                    ground = ""
    return declared, ground


def _cut_hidden(
    tree: LexborHTMLParser, styles: dict[int, dict[str, str]], ground: str
) -> None:
    """Remove what a reader does not see: preheaders, marks of trackers, white on white.

    Size, colour and visibility are those of the next element around that sets them.
    Who writes on a dark screen may send white letters: if nothing else is seen, they
    are read.
    """
    unseen: list[LexborNode] = []
    pale: list[LexborNode] = []
    seen = False
    body = tree.body
    waiting = [(body, _Look(ground=ground))] if body is not None else []
    while waiting:
        node, look = waiting.pop()
        if node.is_text_node:
            if look.is_hidden():
                unseen.append(node)
            elif look.is_pale():
                pale.append(node)
            else:
                seen = seen or not node.text().isspace()
            continue
        attributes = node.attributes
        style = styles.get(node.mem_id, {})
        if attributes or style:
            style = style | _declared(attributes.get("style") or "")
            if "hidden" in attributes or _is_gone(style):
                unseen.append(node)
                continue
            look = look.changed(style, attributes)
        waiting += [(child, look) for child in node.iter(include_text=True)]
    for node in unseen + pale if seen else unseen:
        node.decompose()


@dataclass(frozen=True, slots=True)
class _Look:
    """How a text looks, as far as that can hide it."""

    tiny: bool = False
    visible: bool = True
    color: str = ""
    ground: str = ""  # empty if it is a picture or unknown

    def is_hidden(self) -> bool:
        """Whether nobody sees the text."""
        return self.tiny or not self.visible or self.color == _TRANSPARENT

    def is_pale(self) -> bool:
        """Whether the text has the colour of its ground."""
        if not (self.color and self.ground):
            return False
        one, other = _thirds(self.color), _thirds(self.ground)
        if not (one and other):
            return self.color == self.ground
        return all(abs(a - b) <= _ALIKE for a, b in zip(one, other, strict=True))

    def changed(
        self, style: dict[str, str], attributes: Mapping[str, str | None]
    ) -> "_Look":
        """The same inside an element."""
        short = _SIZE.search(style.get("font", ""))
        size = style.get("font-size", short[1] if short else "")
        tiny = _TINY.fullmatch(size) is not None if size else self.tiny
        shown = style.get("visibility", "")
        visible = shown not in ("hidden", "collapse") if shown else self.visible
        places = ("background-color", "background", "background-image")
        behind = " ".join(style.get(place, "") for place in places)
        behind += f" {attributes.get('bgcolor') or ''}"
        ground = _color(behind)
        if attributes.get("background") or "url(" in behind or "gradient(" in behind:
            ground = ""
        elif ground in ("", _TRANSPARENT):
            ground = self.ground
        said = style.get("color") or attributes.get("color") or attributes.get("text")
        color = _color(said or "") or ("link" if attributes.get("href") else self.color)
        return _Look(tiny, visible, color, ground)


def _declared(style: str) -> dict[str, str]:
    """The properties of a style, lower-case."""
    pairs = (one.partition(":") for one in style.lower().split(";"))
    return {
        name.strip(): value.removesuffix("!important").strip()
        for name, _, value in pairs
    }


def _is_gone(style: dict[str, str]) -> bool:
    """Whether an element has no room on the page, whatever is inside."""
    said = style.get
    if said("display") == "none" or said("mso-hide") == "all":
        return True
    if _ZERO.fullmatch(said("opacity", "")) or _ZERO.fullmatch(said("scale", "")):
        return True
    if _TO_NOTHING.search(said("transform", "")):
        return True
    if said("overflow") == "hidden" and any(
        _ZERO.fullmatch(said(side, "")) for side in ("max-height", "height", "width")
    ):
        return True
    away = said("position") in ("absolute", "fixed") and (
        _FAR.match(said("left", "")) or _FAR.match(said("top", "")) or "clip" in style
    )
    return bool(away) or _FAR.match(said("text-indent", "")) is not None


def _color(said: str) -> str:
    """The first colour in a value, as six digits if it is known; empty if there is
    none."""
    for digits, kind, numbers, name in _COLOR.findall(said.lower()):
        if digits:
            whole = digits if len(digits) > 4 else "".join(2 * x for x in digits)
            return _TRANSPARENT if whole[6:] == "00" else whole[:6]
        if numbers:
            parts = re.split(r"[\s,/]+", numbers.strip())
            if _ZERO.fullmatch("".join(parts[3:4])):
                return _TRANSPARENT
            if kind == "rgb" and all(map(str.isdigit, parts[:3])):
                return "".join(f"{min(int(part[:4]), 255):02x}" for part in parts[:3])
            light = {"100%": _WHITE, "0%": "000000"}.get("".join(parts[2:3]))
            return light if kind == "hsl" and light else f"{kind}({numbers})"
        if name and not _NO_COLOR.fullmatch(name):
            return _NAMED_COLORS.get(name, str(name))
    return ""


def _thirds(color: str) -> bytes:
    try:
        return bytes.fromhex(color)
    except ValueError:
        return b""


def _cut_tails(tree: LexborHTMLParser) -> list[str]:
    """Remove all from where another message begins to the end; the texts."""
    cut: list[str] = []
    for _ in range(_MAX_QUOTES):
        node = tree.css_first(_TAILS) or _ruled(tree)
        if node is None:  # or Gmail forwards, with dashes above
            heads = tree.css(".gmail_attr")
            dashes = (head for head in heads if head.text().strip()[:2] == "--")
            node = next(dashes, None)
        if node is None:
            break
        behind = []
        level: LexborNode | None = node
        while level is not None and level.tag not in ("body", "html"):
            following = level.next
            while following is not None:
                after = following.next
                behind.append(following.text(separator=" "))
                following.decompose()
                following = after
            level = level.parent
        cut += [node.text(separator=" "), *behind]
        node.decompose()
    return cut


def _cut_quotes(tree: LexborHTMLParser) -> list[str]:
    """Put `HARD` in place of each marked quote, outermost first; their texts."""
    cut = []
    for _ in range(_MAX_QUOTES):
        node = tree.css_first(_QUOTES)
        if node is None:
            break
        cut.append(_replaced(node))
    else:
        for node in tree.css(_QUOTES):
            node.decompose()
    # Gmail's reply block, if no quote inside says what in it is quoted. A forwarded
    # message stands in it with a line of dashes above, which the lines show.
    for _ in range(_MAX_BARE):
        for block in tree.css("div.gmail_quote, div.gmail_quote_container"):
            inner = block.html or ""
            if "<blockquote" not in inner and HARD not in inner:
                cut.append(_replaced(block))
                break
        else:
            break
    return cut


def _replaced(node: LexborNode) -> str:
    text = node.text(separator=" ")
    before = _introduction(node)
    node.insert_before(HARD)
    for one in before:
        text = f"{one.text(separator=' ')} {text}"
        one.decompose()
    node.decompose()
    return text


def _introduction(node: LexborNode) -> list[LexborNode]:
    """What stands above the first quote in Gmail's block: that says who wrote it."""
    parent = node.parent
    if parent is None or "gmail_quote" not in (parent.attributes.get("class") or ""):
        return []
    found: list[LexborNode] = []
    before = node.prev
    while before is not None:
        if HARD in before.text():
            return []
        found.append(before)
        before = before.prev
    return found


def _ruled(tree: LexborHTMLParser) -> LexborNode | None:
    """Outlook's header block: a line above it, and three words in bold with colons."""
    for node in tree.css(_RULED):
        style = (node.attributes.get("style") or "").replace(": ", ":")
        if _RULED_STYLE.search(style):
            bold = [b.text().rstrip("\xa0 ") for b in node.css("b, strong")]
            if sum(text.endswith((":", "：")) for text in bold) > 2:
                return node
    return None


def _text(html: str) -> str:
    """Text of serialised HTML, with line breaks where a reader sees them."""
    if "<!--" in html:
        html = _COMMENT.sub("", html)
    if "<pre" in html:
        html = _PRE.sub(lambda pre: pre.group().replace("\n", "<br>"), html)
    html = html.replace(HARD, f"{_BLOCK}{HARD}{_BLOCK}")
    # One space for every run of blanks; a pattern would stop at each single space.
    for blank in "\t\r\n\f":
        html = html.replace(blank, " ")
    html = _SPACES.sub(" ", html) if "  " in html else html
    pieces = _SERIALISED.split(html)  # every second one is the name of a tag
    pieces[1::2] = [_WRITTEN.get(name, "") for name in pieces[1::2]]
    text = unescape("".join(pieces)).replace("\xa0", " ")
    if _IN in text:
        text = _with_depth(text)
    text = _GAP.sub(_breaks, text)
    return "\n".join(line.strip(" \t") for line in text.split("\n")).strip("\n")


def _breaks(gap: re.Match[str]) -> str:
    """The line breaks between two texts: of several blocks that end, one is seen."""
    run = gap.group().replace(" ", "").replace("\t", "")
    count = run.count(_BREAK)
    if (_BLOCK in run or _PARAGRAPH in run) and not run.startswith(_BREAK):
        count += 1
    return "\n\n" if count > 1 or _PARAGRAPH in run else "\n"


def _with_depth(text: str) -> str:
    """`SOFT` before every line inside a quotation without a mark."""
    pieces = re.split(f"([{_IN}{_OUT}])", text)
    depth = 0
    out: list[str] = []
    for piece in pieces:
        if piece == _IN:
            depth += 1
        elif piece == _OUT:
            depth = max(0, depth - 1)
        elif depth and piece.strip(f" \t{_BREAK}{_BLOCK}{_PARAGRAPH}"):
            broken = _GAP.sub(lambda gap: _breaks(gap) + SOFT, piece)
            out.append(f"{_BLOCK}{SOFT}{broken}")
        else:
            out.append(piece)
    return "".join(out)

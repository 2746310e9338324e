"""HTML to text, and the quotes and signatures that mail programs mark in the HTML."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_HTML = 1_000_000
"""Characters of HTML that are looked at."""

_MAX_QUOTES = 100
_INVISIBLE = "script, style, head, title, template"
_QUOTES = ", ".join(
    (
        "blockquote.gmail_quote",
        ".gmail_attr",
        "blockquote[type=cite]",
        ".moz-cite-prefix",
        ".moz-forward-container",
        ".yahoo_quoted",
        "[id*=yahoo_quoted]",
        ".protonmail_quote",
        ".tutanota_quote",
        ".zmail_extra",
        ".mailru-blockquote",
        ".quoteHeader",
        "#isForwardContent",
        "#OLK_SRC_BODY_SECTION",
        "#reply-intro",
        "#qt",
        ".ms-outlook-mobile-reference-message",
        "#mail-editor-reference-message-container",
    )
)
_SIGNATURES = ", ".join(
    (
        ".gmail_signature",
        "[data-smartmail=gmail_signature]",
        ".gmail_signature_prefix",
        ".x_gmail_signature",
        ".moz-signature",
        "#Signature",
        "#AppleMailSignature",
        "[id^=ms-outlook-mobile-signature]",
        "#ms-outlook-mobile-body-separator-line",
        ".protonmail_signature_block",
        ".tutanota_signature",
        "[data-signature-widget]",
    )
)
# From here to the end of the message everything is somebody else's.
_TAILS = (
    "#appendonsend",
    "#divRplyFwdMsg",
    "#x_divRplyFwdMsg",
    'div[style*="border-top:solid #E1E1E1"]',
    'div[style*="border-top:solid #B5C4DF"]',
    'div[style*="border-top: 1px solid"][style*="padding: 3pt 0"]',
    'div[style*="BORDER-TOP: #b5c4df 1pt solid"]',
    "hr#stopSpelling",
)
_MARKERS = (
    *("quote", "moz-", "yahoo_", "zmail_", "olk_src", "reply-intro", "rplyfwd"),
    *("appendonsend", "border-top", "stopspelling", "reference-message"),
    *("isforwardcontent", "signature"),
)

_SPACED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _SPACED | {
    *("div", "br", "li", "tr", "table", "ul", "ol", "dt", "dd", "blockquote"),
    *("pre", "hr", "section", "article", "header", "footer"),
}
_VOID = frozenset({"br", "img", "hr", "meta", "link", "input", "col", "wbr", "area"})
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_ANY_TAG = re.compile(r"<[^<>]*>?")
_MANY_TAGS = 20_000
_DEEPEST = 10_000
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")


def own_text(html: str) -> str:
    """Text of the HTML as a reader sees it, without marked quotes and signatures."""
    tree = _tree(html)
    if has_marks(html):
        _cut_quoted(tree)
        _drop(tree, _SIGNATURES)
    return _text(tree.body) if tree.body is not None else ""


def quoted_text(html: str) -> str:
    """What the mail program itself marked as quoted or forwarded; words only."""
    return "\n".join(_cut_quoted(_tree(html))) if has_marks(html) else ""


def has_marks(html: str) -> bool:
    """Whether reading the HTML can say more about quotes than the plain text."""
    lowered = html.lower()  # a search for each word: one for all is ten times slower
    return any(marker in lowered for marker in _MARKERS)


def _tree(html: str) -> LexborHTMLParser:
    html = html[:MAX_HTML]
    if html.count("<") > _MANY_TAGS and _depth(html) > _DEEPEST:
        html = _ANY_TAG.sub(" ", html)
    tree = LexborHTMLParser(html)
    _drop(tree, _INVISIBLE)
    return tree


def _depth(html: str) -> int:
    """How deep elements nest; the parser needs minutes for 100,000 levels."""
    depth = deepest = 0
    for slash, name in _TAG.findall(html):
        if name.lower() not in _VOID:
            depth += -1 if slash else 1
            deepest = max(deepest, depth)
    return deepest


def _cut_quoted(tree: LexborHTMLParser) -> list[str]:
    return _cut_tails(tree) + _cut_gmail_blocks(tree) + _cut_quotes(tree)


def _drop(tree: LexborHTMLParser, selector: str) -> None:
    for node in tree.css(selector):
        node.decompose()


def _cut_gmail_blocks(tree: LexborHTMLParser) -> list[str]:
    """Remove Gmail's reply blocks, unless answers may stand between the quotes."""
    cut = []
    for _ in range(_MAX_QUOTES):
        node = next(filter(_is_all_quoted, tree.css("div.gmail_quote")), None)
        if node is None:
            break
        cut.append(node.text())
        node.decompose()
    return cut


def _is_all_quoted(node: LexborNode) -> bool:
    introduction = node.css_first(".gmail_attr")
    if introduction is not None and introduction.text().strip().startswith("---"):
        return True  # forwarded
    return node.css_first("blockquote") is None


def _cut_quotes(tree: LexborHTMLParser) -> list[str]:
    """Remove marked quotes, outermost first; their texts."""
    cut = []
    for _ in range(_MAX_QUOTES):
        node = tree.css_first(_QUOTES)
        if node is None:
            break
        cut.append(node.text())
        node.decompose()
    else:
        _drop(tree, _QUOTES)
    return cut


def _cut_tails(tree: LexborHTMLParser) -> list[str]:
    cut = []
    for selector in _TAILS:
        node = tree.css_first(selector)
        if node is not None:
            cut.extend(_cut_after(node))
    return cut


def _cut_after(node: LexborNode) -> list[str]:
    """Remove a node and everything that follows it in the document; the texts."""
    cut = []
    level: LexborNode | None = node
    while level is not None and level.tag not in ("body", "html"):
        following = level.next
        while following is not None:
            after = following.next
            cut.append(following.text())
            following.decompose()
            following = after
        level = level.parent
    cut.insert(0, node.text())
    node.decompose()
    return cut


def _text(top: LexborNode) -> str:
    """Text below a node, with line breaks where a reader sees them."""
    out: list[str] = []
    # Not recursive: some messages nest five thousand elements. A string waits to be
    # written after the children of its element.
    waiting: list[LexborNode | str] = [top]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        before, after = _around(node)
        if node.is_text_node:
            out.append(_BLANKS.sub(" ", node.text_content or ""))
        out.append(before)
        waiting.append(after)
        waiting.extend(reversed(_children(node)))
    return _tidy("".join(out))


def _children(node: LexborNode) -> list[LexborNode]:
    children = []
    child = node.first_child
    while child is not None:
        children.append(child)
        child = child.next
    return children


def _around(node: LexborNode) -> tuple[str, str]:
    """What is written before and after the text of an element."""
    tag = node.tag or ""
    if tag == "br":
        return "\n", ""
    if tag in ("td", "th"):
        return "", "\t"
    if tag == "li":
        return "\n- ", "\n"
    if tag in _BLOCKS:
        return "\n", "\n\n" if tag in _SPACED else "\n"
    return "", ""


def _tidy(text: str) -> str:
    lines = (line.strip() for line in text.replace("\xa0", " ").split("\n"))
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()

"""Text as the bodies of mail programs hold it."""

from __future__ import annotations

from html import escape

Bodies = tuple[str, str]
"""Plain text and HTML."""


def quoted(text: str, mark: str = "> ") -> str:
    """Text with a mark before each line."""
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def divs(text: str) -> str:
    """Each line a div, as Gmail and Apple write it."""
    lines = (_text(line) or "<br>" for line in text.split("\n"))
    return "".join(f"<div>{line}</div>" for line in lines)


def breaks(text: str) -> str:
    """Lines with breaks between them."""
    return "<br>\n".join(map(_text, text.split("\n")))


def word_paragraphs(text: str) -> str:
    """Each line a paragraph, as Word writes it."""
    lines = (_text(line) or "&nbsp;" for line in text.split("\n"))
    return "".join(f'<p class="MsoNormal">{line}<o:p></o:p></p>\n' for line in lines)


def in_both(body: str) -> Bodies:
    """A body as plain text, and as HTML that says no more."""
    return body, f"<html><body>{breaks(body)}</body></html>"


def _text(line: str) -> str:
    """Escaped; indentation survives as programs keep it."""
    body = line.lstrip(" ")
    return "&nbsp;" * (len(line) - len(body)) + escape(body)

"""The blocks of code in README.md and the pages, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

import cloud_api.cli
import edge_app.cli

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        path
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name != "log.md"  # it names the commands of its days
    ),
    *sorted((ROOT / "docs" / "adr").glob("*.md")),
]
PROGRAMS: dict[str, click.Command] = {
    "specsteer": edge_app.cli.cli,
    "specsteer-cloud": cloud_api.cli.main,
}
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^>]+) -->\n\n?)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(r"(?<!`)`((?:specsteer|specsteer-cloud)\s[^`]+)`(?!`)")
_SETTING = re.compile(r"^[A-Z_]+=")


@dataclass(frozen=True)
class Block:
    """A block of code. A comment `<!-- not run: why -->` before it renders to nothing
    and says that no test runs it, and why."""

    page: str
    line: int
    language: str
    text: str
    why_not: str

    @property
    def lines(self) -> list[str]:
        """Each command as it would be typed, continued lines joined."""
        joined = self.text.replace("\\\n", " ")
        return [line.strip() for line in joined.splitlines() if line.strip()]

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands of ours, or calls a server of ours."""
        first = [words[0] for line in self.lines for words in [split(line)] if words]
        return any(word in PROGRAMS or word == "curl" for word in first)


def blocks() -> list[Block]:
    """Those of all pages."""
    found = []
    for path in PAGES:
        text = path.read_text("utf-8")
        for block in _BLOCK.finditer(text):
            line = text[: block.start("language")].count("\n") + 1
            page = path.relative_to(ROOT).as_posix()
            why = block["why"] or ""
            found.append(Block(page, line, block["language"], block["text"], why))
    return found


def split(line: str) -> list[str]:
    """The words of a line without its comment and settings before the command; none
    where they are of no whole command, such as a part of a longer text."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    while words and _SETTING.match(words[0]):
        words = words[1:]
    return words


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Where each line of ours stands, in blocks and within the text, and its words up
    to where the shell sends what it prints elsewhere."""
    for block in blocks():
        for line in block.lines:
            words = split(line)
            if words and words[0] in PROGRAMS:
                yield f"{block.page}:{block.line}", _before_the_shell(words)
    for path in PAGES:
        text = _BLOCK.sub("", path.read_text("utf-8"))
        for found in _INLINE.finditer(text):
            where = path.relative_to(ROOT).as_posix()
            yield where, _before_the_shell(split(" ".join(found[1].split())))


def _before_the_shell(words: list[str]) -> list[str]:
    for at, word in enumerate(words):
        if word in ("|", "<", ">", "&&"):
            return words[:at]
    return words


def complaint(words: list[str]) -> str:
    """What the commands say against a line; empty: nothing. Nothing is executed."""
    command, arguments = PROGRAMS[words[0]], words[1:]
    context = click.Context(command, info_name=words[0], **command.context_settings)
    while True:
        try:
            given, rest, _ = command.make_parser(context).parse_args(arguments)
            for one in command.params:
                value = given.get(one.name or "")
                if isinstance(one.type, click.Choice) and isinstance(value, str):
                    one.type.convert(value, one, context)
        except click.UsageError as error:
            return error.format_message()
        if not isinstance(command, click.Group):
            return f"too many words: {' '.join(rest)}" if rest else ""
        if not rest:
            return ""
        name, arguments = rest[0], rest[1:]
        inner = command.get_command(context, name)
        if inner is None:
            return "" if name.isupper() else f"no such command: {name}"
        context = click.Context(inner, info_name=name, parent=context)
        command = inner

"""Pages of the site that are written anew from the code each time it is built."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from tools.budget import PACKAGES, ROOT
from tools.sources import parsed

CLASSES_OF = (
    "decoding_core",
    "edge_app/service",
    "edge_app/decoding",
    "edge_app/retrieval",
    "cloud_api",
)
"""The method, the device's service and loop, and the server."""
FILES = "# Files\n\nEvery module with the first sentence of its docstring.\n"
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


def first_sentence(path: Path, node: ast.ClassDef | None = None) -> str:
    """The first sentence of the docstring of a module, or of a class in it."""
    text = ast.get_docstring(node or parsed(path)) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    found = _SENTENCE.match(paragraph)
    return (found[1] if found else paragraph).rstrip(".")


def files() -> str:
    """Every module, with the first sentence of its docstring."""
    parts = [FILES]
    for package in PACKAGES:
        for folder in sorted({p.parent for p in (ROOT / package).rglob("*.py")}):
            about = first_sentence(folder / "__init__.py")
            rows = [
                f"| `{path.name}` | {first_sentence(path)} |"
                for path in sorted(folder.glob("*.py"))
                if path.name != "__init__.py"
            ]
            name = folder.relative_to(ROOT).as_posix()
            parts.append(f"## {name}\n\n{about}.\n")
            parts.append("\n".join(["| file | what |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def classes() -> str:
    """The public classes but errors, which explain themselves, and the classes of
    methods and personalisations, which have pages of their own."""
    rows = []
    for place in CLASSES_OF:
        for path in sorted((ROOT / place).rglob("*.py")):
            if path.parent.name in ("methods", "personalisation"):
                continue
            file = path.relative_to(ROOT).as_posix()
            for node in parsed(path).body:
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if not node.name.endswith("Error"):
                    about = first_sentence(path, node).replace("|", r"\|")
                    rows.append(f"| `{node.name}` | {about} | `{file}` |")
    rows.sort(key=str.lower)
    return "\n".join(
        ["# Classes\n", "| class | meaning | file |", "|---|---|---|", *rows]
    )


def commands() -> str:
    """Every command with its options, as `--help` shows them."""
    import cloud_api.cli
    import edge_app.cli

    parts = ["# Commands\n\nEvery command with its options, as `--help` shows them.\n"]
    for name, program in (
        ("specsteer", edge_app.cli.cli),
        ("specsteer-cloud", cloud_api.cli.main),
    ):
        context = click.Context(program, info_name=name, **program.context_settings)
        parts += [_described(*found) for found in below(program, context)]
    return "\n".join(parts)


def below(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Context, click.Command]]:
    """A command and those below it, in the order in which they are shown."""
    yield context, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from below(
                    inner, click.Context(inner, info_name=name, parent=context)
                )


def _described(context: click.Context, command: click.Command) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    words, _, _ = (command.help or "").partition("\b")
    paragraphs = [_plain(part) for part in words.split("\n\n") if part.strip()]
    records = (
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option)
    )
    rows = [
        # A bar would end the cell.
        f"| `{names.replace('|', ', ')}` | {_plain(meaning)} |"
        for names, meaning in filter(None, records)
    ]
    if rows:
        rows = ["\n".join(["| option | meaning |", "|---|---|", *rows])]
    path = context.command_path
    return "\n\n".join([f"## {path}", f"`{path} {usage}`", *paragraphs, *rows]) + "\n"


def _plain(text: str) -> str:
    """Words of a help as Markdown that shows them as they are."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split()))


GENERATED = {"files.md": files, "classes.md": classes, "commands.md": commands}
"""The name of each page, and what writes it."""

"""The documentation cannot lie about what exists: commands, options, methods, files."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import click
import pytest

import cloud_api.cli
import edge_app.cli
from decoding_core.methods import available
from decoding_core.settings import MethodSettings
from edge_app.commands.write import write_command as write
from edge_app.config.settings import Settings
from personal_store import importers
from tools import budget, pages

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs"
PAGES = sorted(FOLDER.glob("*.md"))
LINKING = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((FOLDER / "adr").glob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def page(name):
    return (ROOT / "docs" / name).read_text("utf-8")


def all_words():
    return "\n".join(path.read_text("utf-8") for path in LINKING[: len(PAGES) + 1])


def commands_of(group, name):
    context = click.Context(group)
    return [f"{name} {command}" for command in group.list_commands(context)]


def long_options(command):
    names = [name for option in command.params for name in option.opts]
    return [name for name in names if name.startswith("--")]


def missing(words, text):
    def stands(word):
        return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)

    return [word for word in words if not stands(word)]


def anchors(path):
    """Headings as GitHub names them."""
    headings = HEADING.findall(CODE.sub("", path.read_text("utf-8")))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def links(path):
    """Relative links outside of code."""
    found = LINK.findall(CODE.sub("", path.read_text("utf-8")))
    return [link for link in found if "://" not in link]


def test_what_there_is_is_documented():
    """Methods and importers each on a page of their own, all else on any page."""
    anywhere = [
        *commands_of(edge_app.cli.cli, "specsteer"),
        *commands_of(cloud_api.cli.main, "specsteer-cloud"),
        *long_options(write),
    ]
    assert missing(anywhere, all_words()) == []
    assert missing([f"`{method}`" for method in available()], page("method.md")) == []
    kinds = [f"`{kind}`" for kind in importers.available()]
    assert missing(kinds, page("importing.md")) == []


def test_every_setting_is_in_the_quickstart():
    """As a line of the example, or as its table."""
    shown = re.findall(r"^\[(\w+)\]|^(\w+) = ", page("quickstart.md"), re.MULTILINE)
    named = {table or line for table, line in shown}
    settings = [one.name for kind in (Settings, MethodSettings) for one in fields(kind)]
    assert [name for name in settings if name not in named] == []


def test_every_relative_link_leads_to_a_file():
    """And to a heading of it, where one is named."""
    broken = []
    for path in LINKING:
        for link in links(path):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{path.name} links to {link}")
    assert broken == []


def test_what_is_generated_says_something_of_each_thing():
    """Each file and class has a sentence; each command is there with its options."""
    assert "| `loop.py` | The loop of one text" in pages.files()
    assert "| `--server URL`" in pages.commands()
    for page in (pages.files(), pages.classes()):
        assert "|  |" not in page


def test_the_lines_are_within_the_budget(capsys):
    with pytest.raises(SystemExit) as ended:
        budget.main()
    assert ended.value.code == 0, capsys.readouterr().out


def test_the_site_leads_to_every_page():
    """Decisions and the pages beside the folder are in its navigation too."""
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    beside = re.findall(
        r'": "([\w-]+\.md)"', (ROOT / "docs" / "site_hooks.py").read_text("utf-8")
    )
    written = [p.relative_to(ROOT / "docs").as_posix() for p in FOLDER.rglob("*.md")]
    named = re.findall(r"^ *- (\S+\.md)$", site, re.MULTILINE)
    assert sorted(named) == sorted([*written, *pages.GENERATED, *beside])


def test_the_site_is_built_without_a_warning(tmp_path):
    """Where the extra `docs` is installed; `make docs` does the same."""
    pytest.importorskip("material", reason="the extra 'docs' is not installed")
    words = ["-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr


def test_the_version_is_one():
    """As the package and the citation tell it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\n## {project['version']} - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_page_is_in_the_index():
    """But for the index itself."""
    named = [path.name for path in PAGES if f"({path.name})" not in page("index.md")]
    assert named == ["index.md"]


def test_the_files_that_the_architecture_names_are_there():
    """Those with a folder before them, and those of no made-up NAME."""
    named = re.findall(r"`([a-z_]+/[\w/]+\.py)`", page("architecture.md"))
    real = {file for file in named if not re.search("[A-Z]", file)}
    assert sorted(file for file in real if not (ROOT / file).is_file()) == []

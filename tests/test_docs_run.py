"""The code in README.md and the pages runs, and names no option that is not there.

Each block is run in a folder that holds what the pages name, with the sample letters
imported. Blocks that need another machine, a person or a long time say so in a comment
`<!-- not run: why -->`, which renders to nothing.
"""

import io
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from cloud_api.engine.models import ModelOptions
from cloud_api.engine.thread import load_models
from edge_app import sample
from models.files import locate
from personal_store import Store, import_source
from tests.cloud_api.cloud_fakes import TOKEN, running
from tests.docs_blocks import PROGRAMS, ROOT, blocks, command_lines, complaint, split

EXPORTS = ROOT / "tests" / "personal_store" / "importers" / "exports"
DATA = ROOT / "tests" / "personal_store" / "importers" / "data"
ME = "you@example.org"
OF_MODELS = {"write", "doctor", "demo", "lab"}
"""Commands that load models or measure: their blocks are slow tests."""
ZIPPED = {
    "All Data Categories.zip": "amazon_reviews",
    "letterboxd-you-2026-11-21.zip": "letterboxd",
    "export_you.zip": "reddit",
    "twitter-2026-11-21-abc.zip": "x_archive",
    "archive-20261121.zip": "mastodon",
    "Basic_LinkedInDataExport.zip": "linkedin",
    "facebook-you.zip": "facebook",
    "instagram-you.zip": "instagram",
}
COPIED = {
    "goodreads_library_export.csv": "goodreads/goodreads_library_export.csv",
    "storygraph-export.csv": "storygraph/storygraph_export.csv",
    "WhatsApp Chat with Ben.txt": "whatsapp/WhatsApp Chat with Ben Quill.txt",
    "folder-of-chats/_chat.txt": "whatsapp/_chat.txt",
}
MAILS = (
    *("his-mail.txt", "Maildir/cur/1:2,S"),
    *("mail-folder/1.eml", "folder-of-messages/1.eml"),
)
BLOCKS = blocks()
SHELL = [block for block in BLOCKS if block.is_shell]
RUN = [block for block in SHELL if not block.why_not]


def zipped(**texts):
    """A zip as word processors write it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, text in texts.items():
            made.writestr(f"{name}.xml", text)
    return target.getvalue()


def write_world(folder):
    """All the files that the pages name, of a writer who does not exist."""
    package = Path(sample.__file__).parent
    letters = (package / "letters.mbox").read_bytes()
    letters = letters.replace(b"tess@example.org", ME.encode())
    one = letters.partition(b"\n")[2].partition(b"\nFrom ")[0]
    reviews = (package / "Reviews.json").read_bytes()
    words = "The boat in the harbour was late, and nobody at the pier minded it."
    odf = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:'
        'office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
        f"<office:body><office:text><text:p>{words}</text:p></office:text></office:body>"
        "</office:document-content>"
    )
    word = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006'
        f'/main"><w:body><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:body></w:document>'
    )
    table = f"Body,Created\n{words},2024-03-12\n".encode()
    history = {
        "user": "u1",
        "genre": "post",
        "history": [{"prompt": "Tea", "text": words}],
        "queries": [{"prompt": "The mill", "target": words}],
    }
    rows = (json.dumps(history) + "\n").encode()
    questions = json.loads((DATA / "LaMP_4_dev_questions.json").read_text())
    questions[0]["id"] = "410"
    files = {
        "backup.pst": (DATA / "outlook.pst").read_bytes(),
        "Takeout/Maps/Reviews.json": reviews,
        "posts.jsonl": json.dumps({"data": {"body": words}}).encode(),
        "posts.jsonl.xz": lzma.compress(rows),
        "LaMP_4_dev_questions.json": json.dumps(questions).encode(),
        "letter.odt": zipped(content=odf),
        "Letters/pier.docx": zipped(**{"word/document": word}),
        "Notes/pier.md": f"# Pier\n\n{words}\n".encode(),
        "Library/Mail/V10/Sent.mbox/Messages/1.emlx": b"%d\n%s" % (len(one), one),
        **dict.fromkeys(("All mail.mbox", "exports/letters.mbox"), letters),
        **dict.fromkeys(MAILS, one),
        **dict.fromkeys(("posts.csv", "reviews.csv"), table),
        **dict.fromkeys(("letters.jsonl", "eval/posts.jsonl"), rows),
        **dict.fromkeys(("drafts/pier.txt", "Documents/pier.txt"), words.encode()),
        **{name: (EXPORTS / path).read_bytes() for name, path in COPIED.items()},
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    for name, export in ZIPPED.items():
        with zipfile.ZipFile(folder / name, "w") as made:
            for path in sorted((EXPORTS / export).rglob("*")):
                made.write(path, path.relative_to(EXPORTS / export))
    with tarfile.open(folder / "takeout-20240312.tgz", "w:gz") as made:
        made.add(folder / "All mail.mbox", "Takeout/Mail/Sent.mbox")
    with zipfile.ZipFile(folder / "takeout-20240312.zip", "w") as made:
        made.write(folder / "All mail.mbox", "Takeout/Mail/Sent.mbox")
    for name, role in (("small.gguf", "specialist"), ("large.gguf", "generalist")):
        (folder / name).symlink_to(locate(role))
    with Store.open(folder / "state" / "store.db") as store:
        import_source(store, "mbox", folder / "All mail.mbox", me=[ME])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The folder as each block finds it."""
    folder = tmp_path_factory.mktemp("docs") / "home"
    folder.mkdir(0o700)
    write_world(folder)
    return folder


@pytest.fixture
def place(world, tmp_path, monkeypatch):
    """A copy of it, which is the current folder and the person's own."""
    folder = tmp_path / "home"
    shutil.copytree(world, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("SPECSTEER_HOME", str(folder / "state"))
    return folder


def run_line(line, monkeypatch):
    """A line of ours in this process; what stands before and after it as in a shell."""
    for word in shlex.split(line, comments=True):
        setting = re.fullmatch(r"([A-Z_]+)=(.*)", word)
        if setting:
            monkeypatch.setenv(*setting.groups())
        elif word != "export":
            break
    words = split(line)
    if not words or words[0] == "export" or words == ["specsteer"]:  # the app
        return
    given = None
    if "<" in words:
        at = words.index("<")
        words, given = words[:at], Path(words[at + 1]).read_text()
    program, *arguments = [str(Path(word).expanduser()) for word in words]
    done = CliRunner().invoke(
        PROGRAMS[program], arguments, given, prog_name=program, catch_exceptions=False
    )
    assert done.exit_code == 0, f"{line}\n{done.output}"


def is_slow(block):
    """Whether it loads models, measures or calls a server."""
    lines = [split(line) for line in block.lines]
    return any(
        words[:1] == ["curl"]
        or not OF_MODELS.isdisjoint(words[1:2])
        or words[1:3] == ["models", "check"]
        for words in lines
    )


def parameter(block):
    marks = [pytest.mark.slow] if is_slow(block) else []
    return pytest.param(block, id=f"{block.page}:{block.line}", marks=marks)


@pytest.mark.parametrize("block", [parameter(block) for block in RUN])
def test_a_block_runs(block, place, monkeypatch):
    """Each of its lines ends with status 0."""
    if "curl" in block.text:
        return run_with_a_server(block, place)
    if "pst" in block.text:
        pytest.importorskip("pypff", reason="the extra 'pst' is not installed")
    for line in block.lines:
        run_line(line, monkeypatch)
    return None


def run_with_a_server(block, place):
    """A shell runs it; the server that it talks to has the embedded pair."""
    if not (shutil.which("curl") and shutil.which("jq")):
        pytest.skip("curl or jq is not here")
    (place / "state" / "cloud-token").write_text(TOKEN)
    options = ModelOptions(locate("generalist"), locate("specialist"))
    with running(lambda: load_models(options)) as server:
        text = block.text.replace("http://127.0.0.1:8765", server.url)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text.replace("curl ", "curl --fail ")],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"SPECSTEER_HOME": str(place / "state")},
        )
    assert done.returncode == 0, done.stderr


def test_a_line_names_what_is_there():
    """Commands, options and choices, in blocks that are not run and in the text too."""
    wrong = [
        f"{where}: {' '.join(words)}: {complaint(words)}"
        for where, words in command_lines()
        if complaint(words)
    ]
    assert wrong == []


def test_a_renamed_option_is_noticed():
    """So the test above can fail."""
    for line in (
        'specsteer write --too Ana "Thank her"',
        "specsteer store encrpyt",
        "specsteer write --rule greedily x",
        "specsteer-cloud serve --generalists large.gguf",
        "specsteer status now",
        "specsteer lab bench qualities",
    ):
        assert complaint(split(line)), line


def test_most_blocks_are_run():
    """At least half, and half of those without loading a model."""
    assert len(RUN) * 2 >= len(SHELL)
    assert sum(not is_slow(block) for block in RUN) * 2 >= len(RUN)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{block.page}:{block.line}")
        for block in BLOCKS
        if block.language in ("toml", "json", "python")
    ],
)
def test_other_code_is_whole(block):
    """Settings, figures and Python can be read."""
    if block.language == "toml":
        assert tomllib.loads(block.text)
    elif block.language == "json":
        assert json.loads(block.text)
    else:
        exec(compile(block.text, block.page, "exec"), {})

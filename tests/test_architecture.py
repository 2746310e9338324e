import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import grimp
import pytest

import personal_store

ROOT = Path(__file__).parent.parent
PACKAGES = (
    *("base", "benchmarks", "cloud_api", "decoding_core", "edge_app", "models"),
    *("personal_store", "training"),
)
SOURCES = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


@pytest.mark.parametrize(
    ("module", "strangers"),
    [
        (
            "decoding_core.methods.steering, edge_app.decoding.loop",
            "llama_cpp httpx textual sqlite3 fastapi torch",
        ),
        (
            "edge_app.cli, edge_app.commands.write, "
            "edge_app.service.service, edge_app.service.tape",
            "textual llama_cpp fastapi torch",
        ),
        (
            "cloud_api.commands.serve, cloud_api.run, models.engines.llama_cpp",
            "edge_app personal_store textual httpx httpcore requests torch",
        ),
        (
            "cloud_api.engine.thread, models.running.machine",
            "edge_app personal_store textual httpx requests torch llama_cpp",
        ),
        (  # nothing that measures can open a connection
            "edge_app.evaluation.pair, edge_app.evaluation.cases",
            "httpx httpcore uvicorn textual",
        ),
        (
            "models.template_child",
            "edge_app personal_store textual httpx llama_cpp numpy sqlite3",
        ),
        (
            "personal_store.reading.parallel",
            "edge_app models decoding_core textual httpx llama_cpp numpy",
        ),
        (
            "personal_store.store, personal_store.importing",
            "textual httpx llama_cpp fastapi torch decoding_core models",
        ),
    ],
)
def test_what_really_loads(module, strangers):
    """Contracts see the static graph; this sees the process."""
    code = (
        f"import sys, {module}; print(*(set({strangers.split()!r}) & set(sys.modules)))"
    )
    # What measures the coverage of processes loads modules of its own.
    env = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=env,
    )
    assert done.stdout.split() == []


def test_no_files_import_each_other_in_a_circle():
    """Imports within functions count, too: `prepare` raises with the circle."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    found = {one: graph.find_modules_directly_imported_by(one) for one in graph.modules}
    TopologicalSorter(found).prepare()


def test_no_mail_of_anybody_is_in_the_repository():
    """Only the sample history and small made-up cases may look like a mailbox."""
    listed = subprocess.run(
        ["git", "ls-files", "*.mbox", "*.eml", "*.pst", "*.emlx"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    allowed = ("edge_app/sample/", "tests/")
    assert [path for path in listed if not path.startswith(allowed)] == []


def test_one_place_starts_processes():
    """Isolated from the current folder. Training, which no program imports, asks git
    for what the pair was."""
    starting = re.compile(
        r"multiprocessing|ProcessPool|Popen\(|subprocess\.(run|call|check_\w+)\("
        r"|os\.(exec|spawn|posix_spawn|system|popen|fork)"
    )
    found = {
        str(p.relative_to(ROOT)) for p in SOURCES if starting.search(p.read_text())
    }
    asks_git = "training/parent.py"
    # Programs of the person's own, which the app is asked to call.
    outside = "edge_app/tui/outside.py"
    assert found == {"base/python_child.py", asks_git, outside}


def test_what_windows_lacks_is_used_with_a_way_around_it():
    """A new use has to be looked at: nothing here is run on Windows. Measurements and
    training are for Linux and macOS."""
    lacking = re.compile(
        r"\bimport (?:fcntl|grp|pty|pwd|resource|termios|tty)\b"
        r"|\bos\.(?:O_NOFOLLOW|O_NONBLOCK|chown|fchmod|fork|get(?:eu|u|g|pg)id|killpg"
        r"|link|mkfifo|nice|sched_getaffinity|setsid|sysconf)\b"
        r"|\bsignal\.SIG(?!INT\b|TERM\b|_)\w+|\.add_signal_handler\b|\.hardlink_to\b"
    )
    found = {}
    for path in SOURCES:
        name, uses = str(path.relative_to(ROOT)), set(lacking.findall(path.read_text()))
        if uses and not name.startswith(("benchmarks/", "training/")):
            found[name] = uses
    assert found == {
        "base/locks.py": {"import fcntl"},  # else msvcrt
        "base/owner_only.py": {"os.fchmod", "os.geteuid"},  # else nothing is looked at
        "cloud_api/auth.py": {".hardlink_to"},  # else renamed
        "cloud_api/run.py": {"import resource"},  # else there is no such limit
        "edge_app/endpoint/browser.py": {".add_signal_handler"},  # else Python's own
        "edge_app/tui/app.py": {".add_signal_handler", "signal.SIGHUP"},  # the same
        "models/local/describing.py": {"os.sysconf"},  # else unknown
        "models/running/machine.py": {"os.sched_getaffinity"},  # else unknown
        "models/running/settings.py": {"os.sched_getaffinity"},  # else all cores
        "models/template_child.py": {"import resource"},  # else no bound but time
        "personal_store/reading/parallel.py": {"os.sched_getaffinity"},  # else all
    }


def test_every_program_leaves_the_current_folder():
    """The first lines of the packages that `python -m` can be given, word for word."""
    packages = ("cloud_api", "edge_app", "models")
    codes = [(ROOT / name / "__init__.py").read_text() for name in packages]
    first = re.compile(
        r'^""".*?"""\n\n(import sys\n.*?del sys\.path\[0\]\n)', re.DOTALL
    )
    found = [first.match(code) for code in codes]
    assert None not in found
    assert len({match[1] for match in found if match}) == 1


def test_the_store_offers_what_it_names():
    """A name is loaded when it is asked for; another one is an AttributeError."""
    for name, home in personal_store._HOME.items():
        assert getattr(personal_store, name) is getattr(
            import_module(f"personal_store.{home}"), name
        )
    assert set(personal_store._HOME) == set(personal_store.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        personal_store.nothing  # noqa: B018

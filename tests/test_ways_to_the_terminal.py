"""Every way to a terminal leads through the gate (docs/adr/0016). What goes around it
is named here, with the reason."""

import ast
from functools import cache

from tests.test_architecture import SOURCES
from tests.waiting import ROOT
from tools.sources import parsed

AROUND = {
    "click.prompt": {"models/command_line.py"},  # gates the question itself
    "click.confirm": {"models/command_line.py"},
    "rich.console.Console": {
        "edge_app/commands/terminal.py",  # bars of ours; the label is gated
        "edge_app/tui/app.py",  # writes to a gate of its own
    },
    "decoding_core.foreign_text.ungated": {
        "edge_app/commands/terminal.py",  # our own looks
        "edge_app/commands/store.py",  # an export into a pipe
    },
    # A child's pipe to its parent.
    "sys.stdout.buffer": {"personal_store/reading/parallel.py"},
}
"""Ways around, and the modules that may take them."""
NEVER = {
    *("click.secho", "click.style", "click.echo_via_pager", "click.progressbar"),
    *("click.clear", "click.pause", "click.get_text_stream", "click.get_binary_stream"),
    *("getpass.getpass", "input", "sys.__stdout__", "sys.__stderr__"),
    *("sys.stderr.buffer", "rich.print", "os.system", "curses.initscr"),
}
STARTED = {"cloud_api/__main__.py": "its group gates"}
"""Modules that can be started and do not call `gate_output` themselves."""


@cache
def trees():
    """Every module, parsed once by whoever asks first."""
    return {str(path.relative_to(ROOT)): parsed(path) for path in sorted(SOURCES)}


def used(tree):
    """Dotted names that a module uses, as they are called where they come from."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name.split(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    found = set(names.values())
    for node in ast.walk(tree):
        rest = []
        while isinstance(node, ast.Attribute):
            rest.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            found.add(".".join([names.get(node.id, node.id), *reversed(rest)]))
    return found


def test_the_gate_is_passed_by_nowhere_else():
    taken = {}
    for module, tree in trees().items():
        for way in used(tree) & {*AROUND, *NEVER}:
            taken.setdefault(way, set()).add(module)
    assert taken == AROUND


def test_what_can_be_started_gates_its_output():
    """`python -m` a benchmark as well: mails and models are not ours there either."""
    missing = []
    for module, tree in trees().items():
        starts = module.endswith("__main__.py") or any(
            isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
            for node in tree.body
        )
        if starts and "gate_output()" not in ast.unparse(tree):
            missing.append(module)
    assert sorted(missing) == sorted(STARTED)


def test_widgets_take_no_markup():
    """A name with `[/x]` in it would be a fault, one with `[@click=…]` a button."""
    wrong = [
        f"{module}:{node.lineno}"
        for module, tree in trees().items()
        if module.startswith("edge_app/tui")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("Static", "Label", "Toast", "Button")
        and not any(
            word.arg == "markup" and ast.unparse(word.value) == "False"
            for word in node.keywords
        )
        and not (node.args and all(isinstance(arg, ast.Constant) for arg in node.args))
    ]
    assert wrong == []

"""Which modules of ours execute a function while one block is drafted, checked and
shown.

    make trail

Counted are the modules, and the moves between files: how often a function is entered
from a function of another file of ours, foreign code between them left out.

The block is one in the middle of a text: `specsteer write` over a real socket, with the
embedded pair, and the server in the same process, so that one trace sees both.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from tools.pages import first_sentence

ROOT = Path(__file__).parents[1]
PACKAGES = "base", "cloud_api", "decoding_core", "edge_app", "models", "personal_store"


class Trail:
    """Modules of ours in the order in which they first execute a function.

    Also how often a function is entered from another of them.
    """

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.moves = 0
        self.on = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """For `sys.setprofile`, which asks at every call and return."""
        del argument
        if not self.on or event != "call":
            return
        entered = self._meet(frame.f_code)
        caller = frame.f_back
        while entered and caller is not None:
            before = _module_of(caller.f_code)
            if before is not None:
                self.moves += before != entered
                break
            caller = caller.f_back

    def _meet(self, code: CodeType) -> str | None:
        module = _module_of(code)
        if module is not None and module not in self.modules:
            self.modules.append(module)
        return module


@cache
def _module_of(code: CodeType) -> str | None:
    """The module of ours that holds a function; None for all else, also for what is
    executed only while a module or class is being defined."""
    path = Path(code.co_filename)
    if code.co_name == "<module>" or not path.is_relative_to(ROOT):
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts) if parts[0] in PACKAGES else None


@contextmanager
def traced() -> Iterator[Trail]:
    """A trail of all threads that start within the block, and of this one."""
    trail = Trail()
    threading.setprofile(trail)
    sys.setprofile(trail)
    try:
        yield trail
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def of_a_block(folder: Path) -> Trail:
    """The trail of one block in mid-text, on the device and on the server."""
    from click.testing import CliRunner

    from cloud_api.engine.models import ModelOptions
    from cloud_api.engine.thread import load_models
    from edge_app.cli import cli
    from edge_app.commands.output import Output
    from models.files import locate
    from tests.cloud_api.cloud_fakes import TOKEN, running

    os.environ["SPECSTEER_HOME"] = str(folder)
    shown, count = Output.add, 0
    with traced() as trail:

        def add(output: Output, event: Any) -> None:
            nonlocal count
            shown(output, event)
            if type(event).__name__ == "Settled":
                count += 1
                trail.on = count == 3  # from one block that was shown to the next

        options = ModelOptions(locate("generalist"), locate("specialist"))
        with (
            patch.object(Output, "add", add),
            running(lambda: load_models(options)) as server,
        ):
            at = ("--server", server.url, "--token", TOKEN, "--token-in-clear")
            words = ("write", *at, "--sample", "--max-tokens", "60", "Thank Ana.")
            done = CliRunner().invoke(cli, words, catch_exceptions=False)
    if done.exit_code or count < 4:
        raise SystemExit(f"no text was written: {done.output}")
    return trail


def main() -> None:
    """Print the trail: each file with the first sentence of its docstring."""
    with tempfile.TemporaryDirectory() as folder:
        trail = of_a_block(Path(folder))
    print(f"one block: {len(trail.modules)} modules, {trail.moves} moves")
    for module in trail.modules:
        file = f"{module.replace('.', '/')}.py"
        print(f"  {file:45} {first_sentence(ROOT / file)}")


if __name__ == "__main__":
    main()

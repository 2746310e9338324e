"""For the site of the documentation: pages that lie beside `docs`, and links to them.

The pages are read on a code host too, so they link to `../CONTRIBUTING.md` and the
like. The site takes those files in, and its links lead there. Folders and files of code
are no pages: their names stay, their links go.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tools.pages import GENERATED  # noqa: E402

BESIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "models/embedded/MODEL_CARD.md": "model-card.md",
}
"""Files beside the folder, and what they are called in the site."""
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Take the files beside the folder in, and the pages written from the code."""
    for path, name in BESIDE.items():
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, name, content=text))
    for name, write in GENERATED.items():
        files.append(File.generated(config, name, content=write()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links out of the folder to where the site has what they name."""
    del config, files
    here = page.file.src_uri
    path = next((path for path, name in BESIDE.items() if name == here), f"docs/{here}")
    folder = (ROOT / path).parent

    def led(found: re.Match[str]) -> str:
        words, link, anchor = found[1], found[2], found[3] or ""
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        target = (folder / link).resolve() if link else ROOT / path
        if not target.exists():
            return found[0]  # told as broken
        name = target.relative_to(ROOT).as_posix()
        if name in BESIDE:
            inside = BESIDE[name]
        elif name.startswith("docs/") and target.is_file():
            inside = name.removeprefix("docs/")
        else:
            return words.strip("[]")
        up = "../" * here.count("/")
        return f"{words}({up}{inside}{anchor})"

    return _LINK.sub(led, markdown)

"""What mail programs write around a message, in the languages people write in.

`phrases.WROTE` is the list WROTE of phrases.toml: a regular expression in lower case.
"""

import tomllib
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


def __getattr__(name: str) -> str:
    if name not in _LISTS:
        raise AttributeError(name)
    return str(_LISTS[name]).replace("\n", "")

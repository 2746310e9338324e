"""What mail programs write around a message, in the languages people write in.

`phrases.WROTE` is the list WROTE of phrases.toml: a regular expression in lower case.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, cast

_LISTS = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


def __getattr__(name: str) -> str:
    if name not in _LISTS:
        raise AttributeError(name)
    return str(_LISTS[name]).replace("\n", "")


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, when the pattern is first used: a program that writes a letter
    cleans no mail, and all patterns take it a tenth of its time to the first word."""
    return cast("re.Pattern[str]", _Later(expression, flags))


class _Later:
    def __init__(self, expression: str, flags: int) -> None:
        self._made_of = expression, flags

    def __getattr__(self, name: str) -> Any:
        # Not asked again for what is set now.
        self.__dict__[name] = found = getattr(re.compile(*self._made_of), name)
        return found

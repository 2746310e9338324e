"""The sample history: letters and reviews of a writer who does not exist.

The first screen opens on it, so that a first draft has somebody to sound like. All
of it was written for this project; see README.md beside this file.
"""

from pathlib import Path
from typing import Final

LETTERS: Final = Path(__file__).with_name("letters.mbox")
"""The writer's own mail since 2023, with a few letters from friends in between."""

REVIEWS: Final = Path(__file__).with_name("Reviews.json")
"""Reviews of places, in the shape in which Google Takeout hands them out."""

RECORDED: Final = Path(__file__).with_name("recorded-run.jsonl")
"""The events of a real run of the embedded pair over these letters, for REQUEST: a
tape of `make tape`. Where it stands in for models, what was sent is left out."""

WRITER: Final = "Tess Marlow"
ADDRESS: Final = "tess@example.org"
"""Only letters from here are the writer's own."""

RECIPIENT: Final = "Ana"
REQUEST: Final = "Thank Ana for the photos. Say yes to the weekend of the 14th."
"""The brief that is already filled in; the last letter in LETTERS waits for it."""

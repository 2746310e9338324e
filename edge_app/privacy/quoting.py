"""Which messages of the ledger quote a text of the history: those whose tokens belong
to a run of its words.

Tokens are read where they stood: behind the text that the server had then, refused
drafts too. A run may span several messages; all of them are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from decoding_core.messages import DraftBlock, OpenSession
from decoding_core.verifier import common_prefix
from edge_app.privacy.decoded import by_text
from edge_app.privacy.in_words import Detokenize, Sending

RUN = 4
"""So many words in a row are a quotation; fewer are everybody's."""
_WORD = re.compile(r"\w+")

Run = tuple[str, ...]


def runs_of(texts: Iterable[str]) -> set[Run]:
    """All runs of words of these texts; of a shorter text, the whole of it."""
    found = set()
    for text in texts:
        words = _WORD.findall(text.casefold())
        size = min(RUN, len(words))
        if size > 1:
            found |= {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}
    return found


def quoting(
    sendings: Sequence[Sending], runs: set[Run], detokenize: Detokenize
) -> set[int]:
    """The lines of the ledger with messages that hold a part of such a run, beyond what
    the request of their text says itself."""
    lines = {id(one.message): one.entry.line for one in sendings}
    found: set[int] = set()
    for messages in by_text([one.message for one in sendings]):
        request = messages[0].says
        known: set[Run] = set()
        if isinstance(request, OpenSession):
            known = runs_of([detokenize(request.prompt_ids)])
        text: list[int] = []
        brought: list[set[int]] = []  # the lines that each token of the text came with
        for message in messages:
            line = lines[id(message)]
            match message.says:
                case OpenSession() as said:
                    same = common_prefix(text, said.text_ids)
                    text = list(said.text_ids)
                    brought = [
                        {line} | (brought[place] if place < same else set())
                        for place in range(len(text))
                    ]
                case DraftBlock() as block:
                    start = min(block.position, len(text))
                    fresh = [*block.settled, *block.drafted]
                    text = [*text[:start], *fresh]
                    brought = [*brought[:start], *({line} for _ in fresh)]
                case None:
                    continue
            for begin, end in _quoted_places(text, runs - known, detokenize):
                found.update(*brought[begin:end])
    return found


def _quoted_places(
    text: Sequence[int], runs: set[Run], detokenize: Detokenize
) -> Iterator[tuple[int, int]]:
    """Begin and end of the tokens of each run that a text holds."""
    ends, joined = [], ""
    for token in text:
        joined += detokenize([token])
        ends.append(len(joined))
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(joined)]
    for size in {len(run) for run in runs}:
        for at in range(len(words) - size + 1):
            some = words[at : at + size]
            if tuple(word for word, _, _ in some) in runs:
                begin = sum(end <= some[0][1] for end in ends)
                last = sum(end < some[-1][2] for end in ends)
                yield begin, last + 1

"""Events of messages that left: openings and blocks."""

import json

from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import Sent

URL = "http://a:1"


def opening(terms, prompt_ids, text_ids=(), vocabulary_id="fake"):
    said = OpenSession(tuple(prompt_ids), tuple(text_ids), vocabulary_id, terms)
    body = json.dumps(open_to_json(said)).encode().ljust(4096)
    return Sent(1.0, URL, "open", 5000, tuple(text_ids), body)


def block(terms, position, drafted, settled=(), round_=0, epoch=0):
    said = DraftBlock(
        epoch, round_, position, digest(()), tuple(settled), tuple(drafted)
    )
    frame = role_of(terms).frames.encode_block(said)
    return Sent(2.0, URL, "block", 172, (*said.settled, *said.drafted), frame)

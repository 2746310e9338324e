"""Events of messages that left: openings and blocks."""

import json

from decoding_core.messages import BYTES_VERSION, DraftBlock, OpenSession, digest
from decoding_core.verifier import bytes_role, role_of
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import Sent

URL = "http://a:1"


def opening(terms, prompt_ids, text_ids=(), vocabulary_id="fake"):
    said = OpenSession(tuple(prompt_ids), tuple(text_ids), vocabulary_id, terms)
    body = json.dumps(open_to_json(said)).encode().ljust(4096)
    return Sent(1.0, URL, "open", 5000, tuple(text_ids), body)


def block(terms, position, drafted, settled=(), round_=0, epoch=0):
    tokens = tuple(settled), tuple(drafted)
    said = DraftBlock(epoch, round_, position, digest(()), *tokens)
    frame = role_of(terms).frames.encode_block(said)
    return Sent(2.0, URL, "block", 172, (*said.settled, *said.drafted), frame)


def opening_in_bytes(terms, request, text=b""):
    said = OpenSession(
        (), tuple(text), "fake", terms, BYTES_VERSION, (("user", request),)
    )
    body = json.dumps(open_to_json(said)).encode().ljust(4096)
    return Sent(1.0, URL, "open", 5000, tuple(text), body)


def block_in_bytes(terms, position, drafted, settled=b"", round_=0, epoch=0):
    tokens = tuple(settled), tuple(drafted)
    said = DraftBlock(epoch, round_, position, digest(()), *tokens)
    frame = bytes_role(role_of(terms)).frames.encode_block(said)
    return Sent(2.0, URL, "block", 172, (*said.settled, *said.drafted), frame)

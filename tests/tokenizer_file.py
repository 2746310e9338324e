"""The vocabulary of a published `tokenizer.json`, by the package `tokenizers`."""

import json
import re
from pathlib import Path

from decoding_core.byte_space import ByteVocabulary

_BYTE_NAME = re.compile("<0x([0-9A-F]{2})>")


def vocabulary_in(path: Path) -> ByteVocabulary:
    """Its tokens by their bytes; byte fallback and byte-level names are both read."""
    from tokenizers import Tokenizer

    backend, described = Tokenizer.from_file(str(path)), json.loads(path.read_text())
    added = {one["id"]: one for one in described["added_tokens"]}
    in_bytes = "ByteLevel" in json.dumps(
        [described["pre_tokenizer"], described["decoder"]]
    )

    def piece(token: int) -> bytes:
        name = backend.id_to_token(token) or ""
        if token in added:
            return b"" if added[token]["special"] else added[token]["content"].encode()
        if in_bytes:
            return bytes(_BYTES[sign] for sign in name)
        if found := _BYTE_NAME.fullmatch(name):
            return bytes.fromhex(found[1])
        return name.replace("\u2581", " ").encode()

    size = backend.get_vocab_size(with_added_tokens=True)
    ends = [token for token, one in added.items() if one["special"]][:1]
    return ByteVocabulary(
        [piece(token) for token in range(size)],
        ends,
        lambda text: backend.encode(text, add_special_tokens=False).ids,
    )


def _bytes_by_sign() -> dict[str, int]:
    """The signs that GPT-2's tokenizer writes for bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    signs = [*map(chr, shown), *(chr(256 + i) for i in range(len(hidden)))]
    return dict(zip(signs, [*shown, *hidden], strict=True))


_BYTES = _bytes_by_sign()

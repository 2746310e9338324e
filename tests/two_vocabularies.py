"""Two toy vocabularies over the same letters: neither has the other's tokens, both can
write every text of them, and some of their tokens are parts of a character."""

from itertools import product

from decoding_core.byte_space import ByteVocabulary

LETTERS = ("a", "b", " ", "\n", "é", "€")
_PARTS = [bytes([byte]) for byte in sorted("é€".encode())]
_JOINED = ("".join(two) for two in product(LETTERS, repeat=2))


def _list(*texts):
    return [text.encode() for text in texts]


OWN = ByteVocabulary(
    [
        *_PARTS,
        *_list("ab", "b", "a", " a", "é", "\n", " ", "ba", "bb ", "€", "a\n"),
        b"",
    ],
    [16],
)
"""The device's, as many as a `HashEngine` has."""
_TWO = map("ab".join, product("ab ", "\n€ "))
_MORE = "abab", "aaa", "bbb", "   ", "a b", "b a", "éé€"
SERVERS = ByteVocabulary([b"", *_PARTS, *_list(*LETTERS, *_JOINED, *_TWO, *_MORE)], [0])
"""The server's, as many as its fake models have, cut greedily: where a token of its
ends hangs on what follows."""

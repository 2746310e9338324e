"""The one vocabulary of the embedded pair: byte-level BPE, split as Qwen2 splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from models.chat import ChatTemplate, PromptPacker, prompt_ids
from models.prompts import Message
from models.synthetic_writers.examples import Example, piece_of
from models.synthetic_writers.writers import new_writer
from training import texts as real

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_pad|>")
END_OF_TEXT, START, END, PAD = range(4)
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT_TEMPLATE = ChatTemplate(
    "{% for m in messages %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    {name: number for number, name in enumerate(SPECIALS)},
)
_MARGIN = 8  # tokens kept free, so that an example surely fits
_WRITERS = 4000
_BYTES_A_GENRE = 6_000_000


class Vocabulary:
    """Text to token ids and back; control tokens only where they are asked for."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._control: Any = Tokenizer.from_file(str(path))
        self._plain: Any = Tokenizer.from_file(str(path))
        self._plain.encode_special_tokens = True

    def __len__(self) -> int:
        return int(self._control.get_vocab_size())

    def ids(self, text: str, control: bool = False) -> list[int]:
        """Token ids of a text."""
        tokenizer = self._control if control else self._plain
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    def text(self, ids: Iterable[int]) -> str:
        """The text of token ids, control tokens left out."""
        return str(self._control.decode(list(ids)))

    def example(self, messages: list[Message], answer: str) -> list[int]:
        """Token ids of a conversation with its answer, as a model reads it."""
        prompt = prompt_ids(self.ids, CHAT_TEMPLATE, messages)
        return [*prompt, *self.ids(answer), END]


def texts_of(folder: Path, shards: int, seed: int = 0) -> Iterator[str]:
    """The real and synthetic texts that a vocabulary is learnt from."""
    taken: dict[str, int] = {}
    for text in real.read(folder, shards):
        taken[text.genre] = taken.get(text.genre, 0) + len(text.text)
        if taken[text.genre] < _BYTES_A_GENRE:
            yield text.text
    rng = Random(seed)
    for _ in range(_WRITERS):
        writer = new_writer(rng)
        for task in ("email", "email", "email", "review"):
            piece = piece_of(writer, rng, task)
            yield f"{piece.request.text}\n{piece.text}"


def train_on(texts: Iterable[str], path: Path, size: int) -> None:
    """Learn a vocabulary of `size` tokens from these texts and save it."""
    from tokenizers import models, pre_tokenizers, trainers

    tokenizer = _split_as_qwen2(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


def save(tokens: Sequence[str], merges: Sequence[tuple[str, str]], path: Path) -> None:
    """Save the vocabulary of a model that there is: its tokens in the order of their
    ids, and what is merged in which order."""
    from tokenizers import models

    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = _split_as_qwen2(models.BPE(vocab=ids, merges=list(merges)))
    tokenizer.add_special_tokens(list(SPECIALS))
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


def _split_as_qwen2(model: Any) -> Any:
    """A tokenizer around a model of byte-level BPE."""
    from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers

    tokenizer: Any = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def fitted(example: Example, vocabulary: Vocabulary, room: int) -> Example:
    """The example with its excerpts shortened, and as many as go into `room` tokens
    together with the text: what a device would have put into the prompt."""
    if not example.excerpts:
        return example
    packer = PromptPacker(vocabulary.ids, CHAT_TEMPLATE)
    found = [
        packer.excerpt(e.task, e.recipient, e.subject, e.text)
        for e in reversed(example.excerpts)
    ]
    left = room - len(vocabulary.ids(example.text)) - _MARGIN
    chosen = packer.fitting(example.request, found, example.background, left)
    return replace(example, excerpts=[found[i] for i in reversed(chosen)])


def example_ids(vocabulary: Vocabulary, example: Example) -> list[int]:
    """Token ids of a whole conversation; a text that breaks off ends in padding."""
    ids = vocabulary.example(example.messages(), example.text)
    return ids if example.whole else [*ids[:-1], PAD]

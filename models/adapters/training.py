"""Training a personal LoRA with peft, on this device alone; it can stop at any moment.

The model's weights stay as they are; two small matrices beside each of its matrices are
learnt. A lesson is a text with the prompts that may stand before it, and its tokens
alone are learnt. Prompts without a history make an adapter as in OPPU, prompts with
retrieved passages one as in RAFT; a lesson that has both takes them in turn.

Loaded with the extra `adapter`; nothing else imports this.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import pickle
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Read when these libraries are imported, and not later: no hub is asked about a folder,
# and no bars of theirs stand between our lines.
os.environ["HF_HUB_OFFLINE"] = os.environ["TQDM_DISABLE"] = "1"

import numpy as np
import peft
import torch
import transformers

from base.owner_only import write_whole
from decoding_core.errors import InvalidSettingsError, ModelError, StoppedError
from models.adapters.lora import (
    ARCHITECTURES,
    TARGETS,
    AdapterRecipe,
    Heads,
    Ids,
    Lesson,
    Lora,
)
from models.engines.transformers import device_of, from_files

_CLIP = 1.0
_WARM_UP = 5  # steps in which the rate rises
_PREFIX, _SUFFIX = "base_model.model.", ".lora_A.weight"


class AdapterTraining:
    """An adapter on its way; `advance` until `finished`."""

    def __init__(
        self,
        model: Path,
        lessons: Sequence[Lesson],
        recipe: AdapterRecipe,
        checkpoint: Path,
        *,
        device: str = "auto",
        threads: int = 1,
        stop: threading.Event | None = None,
    ) -> None:
        """Load the model, a GGUF file or a folder, and go on from an old `checkpoint`.
        Raises ModelError if the model cannot be trained, or the checkpoint is damaged,
        and InvalidSettingsError if the checkpoint is one of other texts or settings, or
        there is no such device here."""
        torch.set_num_threads(threads)
        self.recipe = recipe
        self.step = 0
        self.seconds = 0.0
        """Spent on learning, over all sittings."""
        self.kept: dict[str, Any] = {}
        """What the caller keeps in the checkpoint too: JSON."""
        self._lessons = lessons
        self._checkpoint = checkpoint
        self._stop = stop or threading.Event()
        self._device = device_of(device)
        numbers = getattr(torch, recipe.precision)
        network = from_files(transformers.AutoModelForCausalLM, model, dtype=numbers)
        kind = str(network.config.model_type)
        if kind not in ARCHITECTURES:
            raise ModelError(
                f"{model} is of the architecture '{kind}', for which no adapter can be "
                f"trained here; those that can: {', '.join(ARCHITECTURES)}"
            )
        self.architecture = ARCHITECTURES[kind]
        self.heads = Heads(
            network.config.num_attention_heads, network.config.num_key_value_heads
        )
        torch.manual_seed(recipe.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that will change one day
            self._network = peft.get_peft_model(
                network.to(self._device),
                peft.LoraConfig(
                    task_type="CAUSAL_LM",
                    r=recipe.rank,
                    lora_alpha=recipe.alpha,
                    lora_dropout=0.0,
                    target_modules=list(TARGETS),
                ),
            )
        self._learnt = [p for p in self._network.parameters() if p.requires_grad]
        self._optimiser = torch.optim.AdamW(self._learnt, recipe.rate, weight_decay=0.0)
        self._fingerprint = self._fingerprinted(model)
        if checkpoint.exists():
            self._resume()

    @property
    def steps(self) -> int:
        """Of all passes together."""
        return self.recipe.passes * -(-len(self._lessons) // self.recipe.batch)

    @property
    def finished(self) -> bool:
        """Whether all passes are done."""
        return self.step >= self.steps

    def advance(self) -> float:
        """Take one step; returns its loss, in nats a token. Nothing was learnt if it
        raises StoppedError, or ModelError for a loss that is not finite."""
        began = time.monotonic()
        batch = self._batch()
        count = sum(len(text) for _, text in batch)
        nats = 0.0
        for prompt, text in batch:
            if self._stop.is_set():
                self._optimiser.zero_grad()
                raise StoppedError("stopped while learning")
            loss = self._nats(prompt, text)
            (loss / count).backward()
            nats += float(loss.detach())
        if not math.isfinite(nats):
            raise ModelError(
                f"the loss of step {self.step + 1} is {nats}: lower --rate, and begin "
                "anew with --fresh"
            )
        rising = min(1.0, (self.step + 1) / _WARM_UP)
        for group in self._optimiser.param_groups:
            group["lr"] = self.recipe.rate * rising * (1 - self.step / self.steps)
        torch.nn.utils.clip_grad_norm_(self._learnt, _CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.step += 1
        self.seconds += time.monotonic() - began
        return nats / count

    def nats(self, prompt: Ids, text: Ids) -> float:
        """The cost of a text after a prompt so far, in nats; raises StoppedError."""
        if self._stop.is_set():
            raise StoppedError("stopped while measuring")
        with torch.no_grad():
            return float(self._nats(prompt, text))

    def save(self) -> None:
        """Write the whole state for its owner alone, in the place of the last one."""
        state = {
            "fingerprint": self._fingerprint,
            "step": self.step,
            "seconds": self.seconds,
            "kept": json.dumps(self.kept),
            "adapter": self._state(),
            "optimiser": self._optimiser.state_dict(),
        }
        data = io.BytesIO()
        torch.save(state, data)
        write_whole(self._checkpoint, data.getvalue())

    def lora(self) -> Lora:
        """What was learnt so far."""
        state, matrices = self._state(), {}
        found = {name: tensor.float().cpu().numpy() for name, tensor in state.items()}
        for name, a in found.items():
            if name.endswith(_SUFFIX):
                b = found[name.replace(".lora_A.", ".lora_B.")]
                matrices[name.removeprefix(_PREFIX).removesuffix(_SUFFIX)] = a, b
        return Lora(self.recipe.alpha, self.recipe.rank, matrices)

    def _state(self) -> Any:
        return peft.get_peft_model_state_dict(
            self._network, save_embedding_layers=False
        )

    def _batch(self) -> list[tuple[Ids, Ids]]:
        """The prompts and texts of the next step: each pass in an order of its own."""
        count, size = len(self._lessons), self.recipe.batch
        turn, place = divmod(self.step, -(-count // size))
        order = np.random.default_rng((self.recipe.seed, turn)).permutation(count)
        chosen = []
        for number in order[place * size : (place + 1) * size]:
            lesson = self._lessons[int(number)]
            prompts = lesson.prompts
            chosen.append((prompts[(turn + int(number)) % len(prompts)], lesson.text))
        return chosen

    def _nats(self, prompt: Ids, text: Ids) -> Any:
        """As `nats`, with a gradient."""
        ids = torch.tensor([[*prompt, *text]], device=self._device)
        rows = self._network(
            input_ids=ids, logits_to_keep=len(text) + 1, use_cache=False
        ).logits[0, :-1]
        wanted = ids[0, len(prompt) :]
        return torch.nn.functional.cross_entropy(rows.float(), wanted, reduction="sum")

    def _fingerprinted(self, model: Path) -> str:
        """A hash of what a checkpoint must agree with."""
        sha = hashlib.sha256(json.dumps(asdict(self.recipe)).encode())
        weights = model if model.is_file() else model / "config.json"
        sha.update(f"{weights.name} {weights.stat().st_size}".encode())
        for lesson in self._lessons:
            sha.update(json.dumps([lesson.prompts, lesson.text]).encode())
        return sha.hexdigest()

    def _resume(self) -> None:
        try:
            state = torch.load(self._checkpoint, map_location="cpu", weights_only=True)
            fingerprint = state["fingerprint"]
        except (
            *(OSError, RuntimeError, KeyError, ValueError, EOFError),
            pickle.UnpicklingError,
        ) as error:
            raise ModelError(
                f"{self._checkpoint} is damaged; --fresh begins anew"
            ) from error
        if fingerprint != self._fingerprint:
            raise InvalidSettingsError(
                "an unfinished training of that name has other texts, settings or "
                "another model: say what you said then, --fresh begins anew, or --name "
                "names another adapter"
            )
        peft.set_peft_model_state_dict(self._network, state["adapter"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds = state["step"], state["seconds"]
        self.kept = json.loads(state["kept"])

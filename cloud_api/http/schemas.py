"""The bodies of requests: strict, closed, and every size bounded."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from decoding_core.messages import (
    DRAFT_LIMIT,
    SETTLED_LIMIT,
    STEPS_LIMIT,
    STRENGTH_LIMIT,
    THRESHOLD_LIMIT,
    AcceptanceRule,
    BasePlace,
    CandidateRule,
)
from decoding_core.methods import available
from decoding_core.versions import SPOKEN
from models.openai_api.schemas import whole_number

TEXT_LIMIT = 1 << 18
"""More tokens than any model's context."""

# Limits stand before the function, so that they stand in the description, too.
Id = Annotated[int, Field(ge=0, lt=1 << 31), BeforeValidator(whole_number)]
Count32 = Annotated[int, Field(ge=0, lt=1 << 32), BeforeValidator(whole_number)]
Count63 = Annotated[
    int,
    # JSON has no larger numbers that every program reads alike.
    Field(ge=0, lt=1 << 63, json_schema_extra={"maximum": (1 << 53) - 1}),
    BeforeValidator(whole_number),
]


Candidates = Annotated[int, Field(ge=1, le=1 << 20), BeforeValidator(whole_number)]
DraftLimit = Annotated[int, Field(ge=1, le=DRAFT_LIMIT), BeforeValidator(whole_number)]
Steps = Annotated[int, Field(ge=1, le=STEPS_LIMIT), BeforeValidator(whole_number)]
Version = Annotated[
    int, Field(ge=SPOKEN.oldest, le=SPOKEN.newest), BeforeValidator(whole_number)
]


class _Body(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


class TermsBody(_Body):
    """What the server must know of the method."""

    method: str = Field(
        pattern="^[a-z_]{1,32}$", json_schema_extra={"enum": [*available()]}
    )
    rule: AcceptanceRule
    temperature: float = Field(ge=0, le=10)
    seed: Count63
    candidates: Candidates
    candidate_rule: CandidateRule
    strength: float = Field(ge=0, le=STRENGTH_LIMIT)
    draft_limit: DraftLimit
    base: BasePlace
    bonus: bool
    costeer_steps: Steps = 20
    costeer_alpha: float = Field(2, ge=0, le=100)
    costeer_lambda: float = Field(2, ge=0, le=100)
    costeer_eta: float = Field(10, ge=0.01, le=1e6)


class OpenBody(_Body):
    """A request for a session."""

    version: Version
    prompt_ids: list[Id] = Field(min_length=1, max_length=TEXT_LIMIT)
    text_ids: list[Id] = Field(max_length=TEXT_LIMIT)
    vocabulary_id: str = Field(min_length=1, max_length=256)
    terms: TermsBody


class BlockBody(_Body):
    """A block to verify."""

    epoch: Count32
    round: Count63
    position: Count32
    digest: Count32
    settled: list[Id] = Field(max_length=SETTLED_LIMIT)
    drafted: list[Id] = Field(max_length=DRAFT_LIMIT)
    threshold: float = Field(ge=0, le=THRESHOLD_LIMIT)


FIELD_NAMES = frozenset(
    name for body in (TermsBody, OpenBody, BlockBody) for name in body.model_fields
)

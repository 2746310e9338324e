"""The words of token ids, by the models that are on this device."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import click

from decoding_core.errors import DecodingError, EngineError
from edge_app.config.settings import read_settings
from edge_app.privacy.reading import Detokenize


@contextmanager
def detokenizers(wanted: Collection[str]) -> Iterator[dict[str, Detokenize]]:
    """What turns ids into words, by the id of the vocabulary; a sentence on standard
    error says which of the wanted ones no model here has."""
    if not wanted:
        yield {}
        return
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.commands.service_config import service_config
    from models.running.loading import load_model

    try:
        config = service_config(read_settings())
        model = load_model(config.specialist, config.engine)
    except DecodingError as error:
        click.echo(f"{error}; so messages are read without their words", err=True)
        yield {}
        return
    try:
        if set(wanted) - {model.vocabulary_id}:
            click.echo(
                f"some texts were begun with a model of other words than {model.path} "
                "has; theirs are not read",
                err=True,
            )

        def words_of(token_ids: Sequence[int]) -> str:
            try:
                return model.vocabulary.detokenize(token_ids)
            except EngineError:  # somebody edited the ledger
                return f"{len(token_ids)} token ids that no model here has"

        yield {model.vocabulary_id: words_of}
    finally:
        model.close()

import re
from dataclasses import replace

import pytest

from decoding_core.errors import ChecksumError, ModelNotFoundError
from models.engines.llama_cpp import LlamaModel
from models.files import ROLES, cards, find_card, hub_models, known_pairs, locate
from models.running.settings import EngineSettings


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.name)
def test_the_files_are_those_that_the_catalogue_names(card):
    """A model that was made again must be entered again."""
    card.check()


def test_every_role_has_an_embedded_model():
    """And both share a vocabulary."""
    found = [find_card(role) for role in ROLES]
    assert [card.path for card in found] == [locate(role) for role in ROLES]
    assert len({card.vocabulary for card in found}) == 1


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.name)
def test_the_vocabulary_is_the_one_named(card):
    """So that a catalogue tells which models fit before they are loaded."""
    model = LlamaModel(card.path, EngineSettings(extra_buffers=False))
    assert model.vocabulary_id == card.vocabulary
    model.close()


def test_another_file_is_told_from_a_missing_one():
    """Each with a sentence that says what to do."""
    card = find_card("specialist")
    with pytest.raises(ChecksumError, match="not the file"):
        replace(card, sha256="0" * 64).check()
    with pytest.raises(ModelNotFoundError, match="no model file"):
        replace(card, file="embedded/none.gguf").check()


def test_pairs_of_the_catalogue_are_of_one_family_and_the_second_is_larger():
    known = {one.name: one for one in hub_models()}
    for pair in known_pairs():
        small, large = known[pair.specialist], known[pair.generalist]
        assert small.family == large.family
        assert large.gigabytes > 1.5 * small.gigabytes
    assert len(known) == len(hub_models())


@pytest.mark.parametrize("one", hub_models(), ids=lambda one: one.name)
def test_what_a_hub_has_is_named_as_hubs_name_it(one):
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", one.repository)
    assert re.fullmatch(r"[\w.-]+\.gguf", one.file)
    assert one.quantisation.lower() in one.file.lower()
    assert one.size.lower() in one.file.lower()
    assert re.fullmatch(r"([0-9a-f]{64})?", one.sha256)

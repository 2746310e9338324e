import pytest

from models.never_drawn import closing, mark_ids


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ("<|im_start|>assistant\n<think>\n", "\n</think>\n\n"),
        ("<think>", "\n\n</think>\n\n"),
        ("<think>\n\n</think>\n\n", ""),
        ("<think></think>assistant [THINK]", "\n\n[/THINK]\n\n"),
        ("<|im_start|>assistant\n", ""),
    ],
)
def test_a_block_that_a_prompt_opens_is_closed(words, end):
    """One that it closes itself is left alone."""
    assert closing(words) == end


class Words:
    """A vocabulary in which one mark is a token."""

    def tokenize(self, text, control=False):
        assert control
        return {"<think>": [7], "</think>": [8]}.get(text, [1, 2, 3])


def test_only_a_mark_that_is_a_token_is_forbidden():
    """Its parts are words as any others."""
    assert mark_ids(Words()) == (7, 8)

"""Where a stretch ends that is written in the place of another."""

import pytest

from edge_app.service.text_job import span_end


@pytest.mark.parametrize(
    ("stood", "behind", "text", "kept"),
    [
        ("One.", " Two.", " A b. C d.", " A b."),
        ("One. Two!", " Three", " A 3.5 b. C (d!) E", " A 3.5 b. C (d!)"),
        ("One.", " Two", " A b. ", " A b."),
        ("One.", " Two", " A b.", None),  # "3." may go on
        ("Dear Ana,", "\n\nThank", "Hello Ana,\n\nI", "Hello Ana,"),
        ("One", "", "A b. C", "A b."),  # the last line, without an end
        ("red car", " yesterday.", " blue boat yesterday at", " blue boat"),
        ("red car", " yesterday.", " blue boat. And", " blue boat"),
        ("red car", ", yesterday.", " a b c d e f g h", " a b c d e f"),
        ("red car", " yesterday.", " blue boat", None),
        ("car", "", "", None),
    ],
)
def test_it_ends_where_as_much_is_said(stood, behind, text, kept):
    end = span_end(text, stood, behind)
    assert (None if end is None else text[:end]) == kept

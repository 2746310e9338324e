"""What Gmail and others call drafts, trash and spam, in every language of sent mail."""

import pytest

from personal_store.mail.labels import _NAMES, _REASONS, is_sent, unwanted


def test_a_language_that_knows_sent_mail_knows_what_was_not_sent():
    for language, names in _NAMES.items():
        assert all(is_sent((name,)) for name in names["sent"]), language
        assert not any(unwanted((name,)) for name in names["sent"]), language
        for place, reason in _REASONS.items():
            assert {unwanted((name,)) for name in names[place]} == {reason}, language
            assert not any(is_sent((name,)) for name in names[place]), language


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("[Gmail]/Entwürfe", "drafts"),
        ("[Google Mail]/Corbeille", "in the trash"),
        ("Entwu\u0308rfe", "drafts"),  # as macOS writes it
        ("İSTENMEYEN", "in spam"),
        ("Κάδος απορριμμάτων", "in the trash"),
        ("ごみ箱", "in the trash"),
        ("پیش‌نویس‌ها", "drafts"),
        ("Work/Drafts", ""),  # somebody's own label
        ("Inbox", ""),
    ],
)
def test_other_ways_to_write_a_label(label, reason):
    assert unwanted((label,)) == reason

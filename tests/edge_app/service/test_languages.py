"""A word where a text is in a language that the model does not write."""

import pytest

from personal_store.text.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Thank Ana for the photos and say yes to the weekend.", "en"),
        ("Danke Ana für die Fotos und sag, dass ich am Wochenende komme.", "de"),
        ("Remercie Ana pour les photos et dis que je viens avec vous.", "fr"),
        ("Dale las gracias a Ana por las fotos y dile que sí, que voy.", "es"),
        ("Bedankt Ana voor de foto's en zeg dat ik kom op het feest.", "nl"),
        ("Поблагодари Анну за фотографии", "ru"),
        ("写真のお礼をアナに書いて", "ja"),
        ("感谢安娜的照片", "zh"),
        ("Ana", None),
        ("", None),
        ("Grüße an Müller, 12:30", None),
        ("👋🏽 1234", None),
    ],
)
def test_a_language_is_told_or_left_open(text, language):
    assert language_of(text) == language

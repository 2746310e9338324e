"""What cleaning gets wrong of many texts, so that one test may hold hundreds."""

from personal_store.cleaning.cleaning import clean_text


def misread(pairs):
    """Of pairs of a text and its own words: those texts that are not cleaned to them,
    with what is left instead."""
    read = ((text, clean_text(text).text, own) for text, own in pairs)
    return [(text, left) for text, left, own in read if left != own]

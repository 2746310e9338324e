"""Invented writers as a training mixture meets them."""

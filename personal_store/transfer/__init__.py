"""Texts from one store to another: export, merge, restore."""

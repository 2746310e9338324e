"""What the store can refuse, each with a sentence fit to show a person.

StoreError
├── StoreTooNewError
├── UnknownImporterError
└── SourceError
"""


class StoreError(Exception):
    """The store cannot do what was asked; the command line shows the message."""


class StoreTooNewError(StoreError):
    """A newer SpecSteer wrote this store; the person has to update the program."""


class UnknownImporterError(StoreError):
    """No importer has this name; the message lists the names there are."""


class SourceError(StoreError):
    """A file cannot be imported at all; the message says what is wrong with it."""

"""The journal of a draft: all that a person wrote and asked for, as it happened.

The journal is the truth and the screen shows what it folds to, so the app may end in
any way at any time. `entries` says what can happen, `draft` what comes of it, `files`
how it lies on the disk.
"""

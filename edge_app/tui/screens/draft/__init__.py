"""Screens on one draft: its versions, style, letter and files; and on all drafts."""

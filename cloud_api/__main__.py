"""`python -m cloud_api`: the command where no script is installed."""

from cloud_api.cli import program

program()

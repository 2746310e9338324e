"""What the person runs: the device side."""

import sys

# `python -m` searches the current folder first, so a file there could stand in for a
# library. Only this package is loaded by now; it stays if it lies there itself.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    _named = any(word.split(".")[0] == __name__ for word in sys.orig_argv)
    if _named and not __file__.startswith(sys.path[0]):
        del sys.path[0]

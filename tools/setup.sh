#!/bin/sh
# Make or complete the environment VENV, in one line that says what took how long.
# llama.cpp comes from wheels/ if a wheel there fits this machine, else it is compiled;
# uv installs if it is there, else pip.
#     tools/setup.sh PYTHON VENV [WHAT]
set -eu
python=$1 venv=$2 what=${3:-.}
began=$(date +%s)
say() { printf '%s' "$1" >&2; }
took() { now=$(date +%s); say " $((now - began)) s"; began=$now; }
fail() { printf '\n%s\n' "$1" >&2; exit 1; }
# Errors alone: pip warns of each place of a person's settings where it finds nothing.
if command -v uv > /dev/null
then by=uv; install() { uv pip install --quiet --python "$venv/bin/python" "$@"; }
else by=pip; install() { "$venv/bin/python" -m pip install --quiet --quiet "$@"; }
fi

say "setting up:"
if [ ! -x "$venv/bin/python" ]; then
  say " environment"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or newer is needed; say which with PYTHON=python3.12"
  "$python" -m venv "$venv"
  took; say ","
fi
pinned=$(sed -n 's/.*"\(llama-cpp-python==[0-9.]*\)".*/\1/p' pyproject.toml)
if ! "$venv/bin/python" -c 'import sys, importlib.metadata as installed
name, _, version = sys.argv[1].partition("==")
sys.exit(installed.version(name).partition("+")[0] != version)' "$pinned" 2> /dev/null; then
  say " llama.cpp"
  if install --no-deps --no-index --find-links wheels "$pinned" 2> /dev/null
  then say " from wheels/"
  else
    say " compiled, about five minutes, as no wheel in wheels/ fits:"
    command -v c++ > /dev/null || command -v g++ > /dev/null ||
      fail "A C++ compiler is needed to build llama.cpp (Debian: apt install g++)"
    install --no-deps "$pinned"
  fi
  took; say ","
fi
say " packages by $by"
install --editable "$what"
took; echo >&2

"""Child processes that kill themselves at a chosen step.

A step is a statement of SQL or something done to a file of the folder under test. So
a kill falls between two facts on the disk, wherever a test wants it, and no clock
decides whether it comes before the end.
"""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_DYING = """
import os, signal, sqlite3, sys
deadly, folder = int(sys.argv.pop(1)), sys.argv.pop(1)
steps = 0
def step(*_):
    global steps
    steps += 1
    if steps == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
def connect(*arguments, connect=sqlite3.connect, **options):
    made = connect(*arguments, **options)
    made.set_trace_callback(step)
    return made
def watch(event, arguments):
    if event in ("open", "os.remove", "os.rename", "os.truncate", "os.link"):
        if str(arguments[0]).startswith(folder):
            step()
sqlite3.connect = connect
sys.addaudithook(watch)
"""
_TELLING = """
sys.stdout.write(str(steps))
"""


def run_to(step, code, folder, *arguments):
    """Run code as a process that dies at its step of this number, or comes to its end
    at step 0. Whether it died; else how many steps it took."""
    command = [sys.executable, "-c", _DYING + code + _TELLING, str(step), str(folder)]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    if done.returncode == -signal.SIGKILL:
        return True, step
    assert done.returncode == 0
    return False, int(done.stdout.split()[-1])

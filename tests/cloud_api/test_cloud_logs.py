"""What the server logs: named, not quoted, and never without end."""

import logging
import sys

from cloud_api.errors import LINES, PERIOD_SECONDS, NamingFormatter, SeldomFilter


class Screen(logging.Handler):
    def __init__(self, clock):
        super().__init__()
        self.setFormatter(NamingFormatter("%(message)s"))
        self.addFilter(SeldomFilter(clock))
        self.lines = []

    def emit(self, record):
        self.lines += self.format(record).splitlines()


class Logger:
    """A logger with a screen and a clock of its own."""

    def __init__(self):
        self.now = 0.0
        self.screen = Screen(lambda: self.now)
        self._logger = logging.Logger("test")
        self._logger.addHandler(self.screen)

    def warn(self, *what):
        self._logger.warning(*what)

    def fail(self, kind):
        try:
            raise kind("canary-4242")
        except kind:
            self._logger.error("a fault", exc_info=True)


def test_what_repeats_is_counted_and_not_shown():
    logger = Logger()
    for n in range(1000):
        logger.warn("a bad request, %d", n)

    lines = logger.screen.lines
    assert lines[: LINES - 1] == [f"a bad request, {n}" for n in range(LINES - 1)]
    assert lines[LINES - 1 :] == [
        f"a bad request, {LINES - 1} (what follows of these is counted, not shown)"
    ]


def test_the_count_is_told_when_the_period_is_over():
    logger = Logger()
    for now in (0.0, PERIOD_SECONDS - 1, PERIOD_SECONDS, PERIOD_SECONDS):
        logger.now = now
        for _ in range(LINES + 2):
            logger.warn("a bad request")

    lines = logger.screen.lines
    assert len(lines) == 2 * LINES
    assert lines[LINES] == f"a bad request ({LINES + 4} more of these were not shown)"


def test_one_fault_does_not_hide_another():
    logger = Logger()
    for _ in range(100):
        logger.fail(ValueError)
    logger.fail(KeyError)

    assert "KeyError in Logger.fail" in logger.screen.lines[-1]
    assert len(logger.screen.lines) == 2 * (LINES + 1)


def test_an_exception_is_named_and_not_quoted():
    try:
        raise RuntimeError("canary-4242")
    except RuntimeError:
        shown = NamingFormatter("%(message)s").format(
            logging.LogRecord("x", 40, "", 1, "a fault", (), sys.exc_info())
        )

    assert "RuntimeError in test_an_exception_is_named" in shown
    assert "canary" not in shown

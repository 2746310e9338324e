"""A household for tests: people whose clock stands still, and servers they may ask."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from functools import cache

from cloud_api.admission import Tls, context_of_pem, make_certificate
from cloud_api.household import Household, WrongTokenDelay
from cloud_api.people import People
from tests.cloud_api.cloud_fakes import running

NOW = 1_800_000_000


class Clock:
    """A clock that is moved by hand."""

    def __init__(self, now=NOW):
        self.now = now

    def __call__(self):
        return self.now


def certificates(number=0):
    """The same certificate for every test that asks for this number."""
    return made(number)


@cache
def made(number):
    return make_certificate()


def people_in(folder, clock=None):
    """The people of a folder, with a certificate."""
    people = People(folder, clock or Clock())
    people.certificate(certificates)
    return people


def tls_in(folder, number=0):
    """The settings of a server with a certificate."""
    pem, fingerprint = certificates(number)
    return Tls(context_of_pem(pem, folder), fingerprint)


@contextmanager
def household_server(folder, clock=None, patience=None, number=0, **options):
    """A server of the people in a folder, over TLS and in the clear; its `.people`."""
    people = people_in(folder, clock)
    household = Household(people, patience or WrongTokenDelay(first_seconds=0.0))
    try:
        with running(
            authority=household, tls=tls_in(folder, number), **options
        ) as server:
            server.people, server.household = people, household
            yield server
    finally:
        household.close()


def secure(url):
    """The address of the same server over TLS."""
    return url.replace("http://", "https://")


def trusting(number=0):
    """What a client takes: this certificate alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificates(number)[0])
    return context

import os
import time
import unittest

import pytest

from kettle import Kettle

attempts = 0


class TestKettle:
    def test_boils(self, record_property):
        record_property("verifies", "REQ-027")
        assert Kettle().boil() == 100


def test_overflows():
    assert Kettle().boil() == 120


@pytest.mark.skip(reason="no lime in it yet")
def test_descales():
    assert False


@pytest.mark.flaky(reruns=2)
def test_whistles():
    global attempts
    attempts += 1
    assert attempts == 2


@pytest.mark.flaky(reruns=1)
def test_rattles():
    assert False


@pytest.mark.xfail(reason="the lid is loose")
def test_holds_tight():
    assert False


@pytest.mark.parametrize("celsius", [80, 100])
def test_heats(celsius):
    assert Kettle(celsius).celsius == celsius


@pytest.mark.parametrize("celsius", [80, 100])
def test_leaks(celsius):
    assert celsius == 80


def test_pours(subtests):
    for cup in ["first", "second"]:
        with subtests.test(cup):
            assert Kettle().cool() == 20


def test_drips(subtests):
    for cup in ["first", "second"]:
        with subtests.test(cup):
            assert cup == "first"


def test_idles(subtests):
    for cup in ["first", "second"]:
        with subtests.test(cup):
            pytest.skip("nobody is thirsty")


def test_cools():
    assert Kettle().cool() == 20


@pytest.fixture
def socket():
    raise RuntimeError("no power")


def test_plugs_in(socket):
    pass


def test_explodes():
    os.abort()


@pytest.mark.timeout(1)
def test_hangs():
    time.sleep(60)

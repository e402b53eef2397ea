#!/usr/bin/env python3
"""Right answers for tests/unit/test_moder.c, written from the description.

    tests/unit/moder_traces.py >tests/unit/moder_traces.h

The algorithm as a table of what each state does with each verdict, rates as
exact fractions that are rounded up once. Prints the table of the test: for every
trace, two characters a decision: the index of the profile after it, and the
first letter of the state (parked, tired, right, left).
"""

from fractions import Fraction
from math import ceil

USECS = {'RX': (1, 8, 64, 128, 256), 'TX': (1, 8, 32, 64, 128)}
LAST = 4
EVENTS = 64
PATIENCE = 10


class Search:
    """Position, heading, and the steps taken each way since turning there."""

    def __init__(self):
        self.at = 1
        self.state = 'p'
        self.taken = {'r': 0, 'l': 0}
        self.walked = 0
        self.mark = (0, 0, 0)

    @staticmethod
    def differs(now, then):
        return then and 100 * abs(now - then) // then > 10

    def verdict(self, now):
        for i in (0, 1):
            if not self.mark[i]:
                return 1 if now[i] else 0
            if self.differs(now[i], self.mark[i]):
                return 1 if now[i] > self.mark[i] else -1
        if self.differs(now[2], self.mark[2]):
            return 1 if now[2] < self.mark[2] else -1
        return 0

    def move(self):
        """None, or the state in which the walk ends here."""
        if self.walked == PATIENCE:
            return 't'
        to = self.at + (1 if self.state == 'r' else -1)
        if not 0 <= to <= LAST:
            return 'p'
        self.at = to
        self.taken[self.state] += 1
        self.walked += 1
        return None

    def stop(self, how):
        self.state = how
        self.taken = {'r': 0, 'l': 0}
        if how == 'p':
            self.walked = 0

    def go(self):
        self.state = 'l' if self.at else 'r'
        self.move()

    def decide(self, now):
        was = self.state
        better = self.verdict(now)
        if was == 'p':
            if better:
                self.go()
        elif was == 't':
            self.walked -= 1
            if not self.walked:
                self.go()
        else:
            other = {'r': 'l', 'l': 'r'}
            if better != 1:
                self.state = other[was]
                self.taken[self.state] = 0
            if (self.taken[self.state] == 1 and
                    self.taken[other[self.state]] > 1):
                self.stop('p')
            else:
                end = self.move()
                if end:
                    self.stop(end)
        if (was, self.state) != ('p', 'p'):
            self.mark = now
        return f'{self.at}{self.state}'


class Lcg:
    def __init__(self):
        self.x = 12345

    def __call__(self, n):
        self.x = (self.x * 1103515245 + 12345) % 2**31
        return (self.x >> 8) % n


# A load: (round, profile index, its usecs, a, b, random) -> packets, bytes,
# microseconds of one measurement.

def steady(i, at, us, a, b, rnd):
    return a, a * b, 10000


def step(i, at, us, a, b, rnd):
    return (a if i < 20 else b), (a if i < 20 else b) * 700, 10000


def hill(i, at, us, a, b, rnd):
    """Best at profile a; each step beside it costs b per mille."""
    n = 100000 - abs(at - a) * b * 100
    return n, n * 1448, 64000


def flow(i, at, us, a, b, rnd):
    """a packets a millisecond whatever the profile; fewer wake-ups."""
    t = 64 * (us + b)
    return a * t // 1000, a * t // 1000 * 100, t


def noise(i, at, us, a, b, rnd):
    n = a * (1000 + rnd(2 * b + 1) - b) // 1000
    return n, n * 1000, 5000


def chaos(i, at, us, a, b, rnd):
    return 1 + rnd(a), 60 + rnd(b), 1 + rnd(100000)


LOADS = {'STEADY': steady, 'STEP': step, 'HILL': hill, 'FLOW': flow,
         'NOISE': noise, 'CHAOS': chaos}


def run(way, kind, a, b, rounds=40):
    search, rnd, out = Search(), Lcg(), []
    for i in range(rounds):
        n, octets, us = LOADS[kind](i, search.at, USECS[way][search.at], a, b,
                                    rnd)
        out.append(search.decide(tuple(ceil(Fraction(v * 1000, us))
                                       for v in (octets, n, EVENTS))))
    return ''.join(out)


TRACES = (
    [('STEADY', 1000, 700), ('STEADY', 0, 0), ('STEADY', 1, 1),
     ('STEP', 1000, 1200), ('STEP', 1000, 1105), ('STEP', 1000, 1115),
     ('STEP', 1000, 10), ('STEP', 10, 60000)] +
    [('HILL', top, cost) for top in range(5) for cost in (20, 120, 200)] +
    [('FLOW', 100, 1), ('FLOW', 1000, 30), ('FLOW', 5, 2000),
     ('NOISE', 5000, 20), ('NOISE', 5000, 90), ('NOISE', 5000, 150),
     ('NOISE', 5000, 900), ('CHAOS', 100, 1000), ('CHAOS', 100000, 100000)])


def main():
    print('/* Printed by moder_traces.py. */')
    for way in ('RX', 'TX'):
        for kind, a, b in TRACES:
            answer = run(way, kind, a, b)
            print(f'{{MODER_{way}, {kind}, {a}, {b},\n'
                  f' "{answer[:60]}"\n "{answer[60:]}"}},')


if __name__ == '__main__':
    main()

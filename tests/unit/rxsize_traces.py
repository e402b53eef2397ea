#!/usr/bin/env python3
"""Right answers for tests/unit/test_rxsize.c, by another way of reckoning.

    tests/unit/rxsize_traces.py

An average in which a new frame counts 1/64, kept as an exact fraction with no
rounding at all; the driver keeps 8 binary places and cuts off below them at
each step. So the driver may be lower than the exact value, but by less than
63 steps of 1/256, a quarter of a byte (each step loses less than one, and a
loss fades by 63/64 at each step: 1 + 63/64 + ... = 64). Prints the table of
the test: trace, frames, exact average times 256, rounded down.
"""

from fractions import Fraction

SEED = 12345


def average(lengths):
    avg = None
    for n in lengths:
        if avg is None:
            avg = Fraction(n)
        else:
            avg += (Fraction(n) - avg) / 64
        # Beyond 2^-200 nothing matters; the numbers stay small.
        avg = Fraction(round(avg * 2**200), 2**200)
    return avg


def random_lengths(count):
    x = SEED
    for _ in range(count):
        x = (x * 1103515245 + 12345) % 2**31
        yield 14 + (x >> 8) % 65536


def traces():
    for a, b in ((64, 1514), (1514, 64), (1514, 65549), (65549, 1514),
                 (64, 65549), (65549, 64)):
        for n in (1, 10, 44, 64, 200, 500, 1500):
            yield f"STEP({a}, {b}, {n})", [a] * 100 + [b] * n
    for a, b in ((64, 1514), (1514, 65549)):
        for n in (1, 2, 3, 64, 1000, 1001):
            yield f"TURNS({a}, {b}, {n})", [(a, b)[i % 2] for i in range(n)]
    for n in (1, 2, 64, 1000, 5000):
        yield f"RANDOM({n})", random_lengths(n)


def main():
    for call, lengths in traces():
        print(f"    {{{call}, {int(average(lengths) * 256)}}},")


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""
A bad cable, which loses, repeats, reorders and delays frames both ways: what
arrives by TCP is what was sent, to the byte, in a bounded time, and all that
the guest sends meanwhile is well formed. Which frames the cable hits is drawn
from a seed; a failure names it.

    tests/system/test_loss.py            a choice, for `make test`
    VIREO_WIRE=all ... (make test-wire)  all rates, with gso on and off, in
                                         both ways to learn that frames went
    SEED=N                               another seed
"""
import os
import socket
import tempfile
import time

import cable
import runner
import tap
import traffic
import wire
from guest import Guest
from traffic import MIB

ECHO = 7
ALL = os.environ.get('VIREO_WIRE') == 'all'
SEED = int(os.environ.get('SEED', '1'))

# What the cable does, bytes each way, and seconds that they may take: many
# times what is usual, as other work may run on this machine.
CASES = {
    'loss_0_1': (dict(loss=0.001), 4 * MIB, 40),
    'loss_1': (dict(loss=0.01), MIB, 60),
    'loss_5': (dict(loss=0.05), MIB // 2, 100),
    'twice': (dict(twice=0.05), MIB, 30),
    'behind': (dict(behind=0.02), MIB, 30),
    'late': (dict(late=0.02, late_most=0.02), MIB, 40),
    'all_of_it': (dict(loss=0.01, twice=0.01, behind=0.01, late=0.01,
                       late_most=0.01), MIB, 60),
}
CHOICE = {
    'default': tuple(CASES),
    'gso_on_orphan': ('loss_1', 'loss_5', 'all_of_it'),
    'gso_off_interrupt': ('loss_0_1', 'loss_1', 'loss_5'),
}
PRODUCT = {'default': tuple(CASES)} | {
    f'gso_{gso}_{mode}': tuple(CASES)
    for gso in ('on', 'off') for mode in ('interrupt', 'orphan')
}
SIZES = 4 if ALL else 1     # times as many bytes
DATAGRAMS = 150             # of 8000 bytes, six fragments each

laid = None                 # the cable, once prepare() has run


def echo_over(host, case, record=None):
    """Random data there and back over such a cable."""
    quality, size, seconds = CASES[case]
    size *= SIZES
    seconds *= SIZES
    laid.worsen(SEED, record, **quality)
    start = time.monotonic()
    try:
        traffic.echo_hash(host, ECHO, size, seconds=seconds)
        took = time.monotonic() - start
        assert took <= seconds, f'{took:.0f} s, more than {seconds}'
    except AssertionError as e:
        raise AssertionError(f'{case}, seed {SEED}: {e}, after '
                             f'{time.monotonic() - start:.0f} s') from e
    finally:
        counts = laid.mend()
    print(f'   {case}, {host}: {size / MIB:.1f} MiB each way in '
          f'{took:.1f} s', flush=True)
    check_cable(case, quality, counts)


def check_cable(case, quality, counts):
    """The cable was as bad as it had to be: at least about half of what is
    to be expected, both ways together."""
    names = dict(loss='lost', twice='twice', behind='behind', late='late')
    frames = sum(way['frames'] for way in counts.values())
    for key, name in names.items():
        hit = sum(way[name] for way in counts.values())
        if key not in quality:
            continue
        assert hit >= max(1, frames * quality[key] / 2 - 3), \
            f'{case}: {name} {hit} of {frames} frames, seed {SEED}'
    refused = [way['refused'] for way in counts.values()]
    assert refused == [0, 0], f'{case}: the taps refused frames {refused}'


def over_a_bad_cable(host, case):
    if not wire.available():
        echo_over(host, case)
        return
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        path = os.path.join(folder, 'capture')
        echo_over(host, case, path)
        wire.judge(path, clean=False)


def datagrams(host):
    """Fragments are lost: a datagram comes back whole, or not at all, and
    what is left of the others is given up after a while."""
    laid.worsen(SEED, loss=0.02)
    sent, back = set(), 0
    try:
        with traffic.udp_socket(host, ECHO) as s:
            for _ in range(DATAGRAMS):
                sent.add(data := os.urandom(8000))
                s.send(data)
                s.settimeout(0.02)
                try:
                    got = s.recv(65536)
                except socket.timeout:
                    continue
                assert got in sent, 'other bytes came back'
                back += 1
    finally:
        lost = laid.mend()
    assert 0 < back < DATAGRAMS, f'{back} of {DATAGRAMS} came back; {lost}'


def check(setting, cases):
    append = '' if setting == 'default' else \
        setting.replace('gso_', 'gso=').replace('_', ' tx-mode=')
    with Guest(net='tap', tap=tap.NAME, append=append) as g:
        traffic.need_settings(g)
        g.wait_for('en0 address FE80::', 10)
        for i, case in enumerate(cases):
            if ALL or i % 2 == 0:
                over_a_bad_cable(g.host, case)
            if ALL or i % 2:
                over_a_bad_cable(cable.guest_ip6(), case)
        if ALL or setting == 'default':
            datagrams(g.host)
            datagrams(cable.guest_ip6())
        # Fragments are kept for 5 s, TIME_WAIT is shorter.
        traffic.works_again(lambda: traffic.check_counters(g), 15)


MORE_TESTS = [
    runner.named(check, f'test_loss_{setting}', setting=setting, cases=cases)
    for setting, cases in (PRODUCT if ALL else CHOICE).items()
]


def prepare():
    global laid
    laid = cable.lay()


if __name__ == '__main__':
    runner.main(globals(), prepare)

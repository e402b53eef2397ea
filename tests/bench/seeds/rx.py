#!/usr/bin/env python3
"""
The receive path measured: what the buffers' size (S1), its following the
traffic (S2) and late packet objects (S5) are worth.

Every figure comes from a run: the driver as a Linux process (hosted.py), and
the kernel in QEMU with stock iperf3 over a tap (fleet.py). QUICK=1 in the
environment: fewer and shorter runs.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'system'))

# The path above is where these are.
# pylint: disable=wrong-import-position
import fleet
import gro
import hosted
import report
from report import goal, median, note, section, spread, table
from runner import Skip

QUICK = int(os.environ.get('QUICK', '') not in ('', '0'))
SECONDS = 1
ETH = 14
NO_LARGE = 'guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off'


def column(runs, name):
    return median([c[name] for c in runs])


def large_only(c):
    """Ring entries per frame, of the frames that were not copied: each of
    those took one entry."""
    return ((c['rx_bufs'] - c['rx_copied']) /
            max(1, c['rx_frames'] - c['rx_copied']))


def posted(c):
    return c['rx_refill_bytes'] / max(1, c['rx_bytes'])


def in_use(c):
    return (c['now_rx_memory'] - c['now_rx_memory_free']) / 1024


def compare(name, runs, ours, other, target):
    rates = {n: [c['rate'] for c in runs[n]] for n in runs}
    return report.compare(name, rates, ours, other, target)


# ---- S1 --------------------------------------------------------------------

def s1():
    section('S1: frames of the MTU over TCP, stock iperf3, in QEMU')
    sizes = ('page', 'mtu-faulty', 'mtu')
    with fleet.Fleet({s: f'rx-buf={s}' for s in sizes}, NO_LARGE) as f:
        runs = f.rounds(2 if QUICK else 12, lambda m: fleet.tcp(m, SECONDS))
    table(('rx-buf', 'buffers/frame', 'Mb/s', 'spread %', 'guest CPU %',
           'posted B/B'),
          [(s, f'{median([large_only(c) for c in runs[s]]):.3f}',
            f'{column(runs[s], "rate"):.0f}',
            f'{spread([c["rate"] for c in runs[s]]):.0f}',
            f'{column(runs[s], "cpu"):.0f}',
            f'{median([posted(c) for c in runs[s]]):.2f}') for s in sizes])
    hosted.judge_buffers('s1.qemu', {
        s: median([large_only(c) for c in runs[s]]) for s in sizes})
    for other in ('page', 'mtu-faulty'):
        compare(f's1.qemu.mtu_against_{other}', runs, 'mtu', other, 1.0)


# ---- S2 --------------------------------------------------------------------

UDP_SIZE = 64
FIXED = ('page', 'mtu', '2048')


def mix(member):
    """Three kinds of traffic, a second each; the geometric mean of rates."""
    parts = [fleet.tcp(member, SECONDS),
             fleet.udp(member, SECONDS, UDP_SIZE, 0),
             fleet.tcp(member, SECONDS, wire=True)]
    total = dict(parts[-1])
    for name in ('rx_refill_bytes', 'rx_bytes', 'seconds', 'rx_frames'):
        total[name] = sum(c[name] for c in parts)
    total['cpu'] = sum(c['cpu'] for c in parts) / 3
    total['rate'] = (parts[0]['rate'] * parts[1]['rate'] *
                     parts[2]['rate']) ** (1 / 3)
    return total


TRAFFIC = {
    'bulk': ('TCP in large frames, Mb/s', lambda m: fleet.tcp(m, SECONDS)),
    'mtu': ('TCP in frames of the MTU, Mb/s',
            lambda m: fleet.tcp(m, SECONDS, wire=True)),
    'udp64': ('datagrams of 64 bytes, as fast as they go, thousands/s',
              lambda m: fleet.udp(m, SECONDS, UDP_SIZE, 0)),
    'mix': ('the three in turn, a second each, geometric mean', mix),
}


def s2():
    section('S2: buffers that follow the traffic, in QEMU')
    sizes = ('auto',) + FIXED
    with fleet.Fleet({s: f'rx-buf={s}' for s in sizes}) as f:
        for name, (title, work) in TRAFFIC.items():
            print(title)
            rounds = 1 if QUICK else 4
            if name != 'mix':
                rounds = 2 if QUICK else 8
            s2_table(name, sizes, f.rounds(rounds, work))


def s2_table(name, sizes, runs):
    table(('rx-buf', 'rate', 'spread %', 'guest CPU %', 'posted B/B',
           'in use KiB', 'buffer B'),
          [(s, f'{column(runs[s], "rate"):.1f}',
            f'{spread([c["rate"] for c in runs[s]]):.0f}',
            f'{column(runs[s], "cpu"):.0f}',
            f'{median([posted(c) for c in runs[s]]):.2f}',
            f'{median([in_use(c) for c in runs[s]]):.0f}',
            f'{column(runs[s], "now_rx_buf_size"):.0f}') for s in sizes])
    best = max(FIXED, key=lambda s: column(runs[s], 'rate'))
    ratio = compare(f's2.qemu.auto.{name}', runs, 'auto', best, 0.97)
    if ratio < 0.97:
        explain(name, runs, best)


def explain(name, runs, best):
    """Did auto do anything else than the best fixed size? If not, what
    separates them is noise, and this says how much of it there is."""
    ours, other = (column(runs[s], 'now_rx_buf_size') for s in ('auto', best))
    posts = column(runs['auto'], 'rx_refill_bufs')
    if ours == other:
        note(f's2 {name}: auto and {best} had buffers of the same size, '
             f'{ours:.0f}: the same code on the same memory, so the '
             'difference is noise')
    elif posts < column(runs['auto'], 'rx_frames') / 100:
        note(f's2 {name}: frames were copied and {posts:.0f} buffers posted: '
             'their size has no effect, so the difference is noise')


# ---- S5 --------------------------------------------------------------------

def made(c, early):
    """Packet objects made, early or late, per frame."""
    return c['rx_refill_bufs' if early else 'rx_objects'] / c['rx_frames']


def refills(c):
    return 1000 * c['rx_refills'] / c['rx_frames']


def s5():
    section('S5: packet objects made late, in QEMU')
    ways = {'early': 'rx-early=on rx-copy=none',
            'late': 'rx-early=off rx-copy=none',
            'late, copies': 'rx-early=off'}
    rounds = 2 if QUICK else 6
    with fleet.Fleet(ways) as f:
        bulk = f.rounds(rounds, lambda m: fleet.tcp(m, SECONDS))
        flood = f.rounds(rounds, lambda m: fleet.udp(m, SECONDS, UDP_SIZE, 0))
    for title, runs in (('TCP in large frames, Mb/s', bulk),
                        ('datagrams of 64 bytes at overload, thousands/s',
                         flood)):
        print(title)
        table(('objects', 'rate', 'spread %', 'guest CPU %', 'made/frame',
               'used/frame', 'refills/1000', 'lost %', 'no memory'),
              [(w, f'{column(runs[w], "rate"):.1f}',
                f'{spread([c["rate"] for c in runs[w]]):.0f}',
                f'{column(runs[w], "cpu"):.0f}',
                f'{median([made(c, w == "early") for c in runs[w]]):.3f}',
                f'{median([made(c, False) for c in runs[w]]):.3f}',
                f'{median([refills(c) for c in runs[w]]):.1f}',
                f'{median([c.get("lost", 0) for c in runs[w]]):.1f}',
                f'{column(runs[w], "rx_refill_nomem"):.0f}') for w in ways])
    judge_s5(bulk, flood)


def driver_drops(c):
    return sum(v for k, v in c.items() if k.startswith('rx_drop_'))


def judge_s5(bulk, flood):
    early = median([made(c, True) for c in bulk['early']])
    late = median([made(c, False) for c in bulk['late']])
    goal('s5.qemu.objects_per_large_frame', f'{late:.3f}',
         f'<{early:.3f} (early)', late < early)
    compare('s5.qemu.bulk', bulk, 'late', 'early', 1.0)
    compare('s5.qemu.udp', flood, 'late', 'early', 1.0)
    note('s5: at this overload the guest\'s processor was busy for '
         f'{column(flood["late"], "cpu"):.0f} % and the driver dropped '
         f'{sum(driver_drops(c) for c in flood["late"])} frames, so what is '
         'lost is lost in front of the device (the host\'s queue of the tap)')
    lost = {w: column(flood[w], 'lost') for w in flood}
    goal('s5.qemu.udp_lost_percent', f'{lost["late"]:.1f}',
         f'<={lost["early"]:.1f} (early)', lost['late'] <= lost['early'])


def main():
    parts = {'hosted': lambda: hosted.measure(QUICK),
             'gro': lambda: gro.measure(QUICK), 's1': s1, 's2': s2, 's5': s5}
    report.head(QUICK)
    for part in sys.argv[1:] or parts:
        parts[part]()
    report.summary()


if __name__ == '__main__':
    try:
        fleet.prepare()
    except Skip as reason:
        print(f'rx: the part in QEMU cannot be run here: {reason}')
        sys.argv[1:] = ['hosted', 'gro']
    main()

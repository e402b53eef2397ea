#!/usr/bin/env python3
"""
Two settings of the guest compared by stock sockperf: the throughput of small
and of large messages over TCP, and the latency of a ping-pong on a quiet line.

    tests/bench/seeds/moder.py [NAME=COMMAND-LINE NAME=COMMAND-LINE]

The first is what the second is compared with; a command line is the kernel's
(`off=moder=off dim=moder=dim` when none is given). Both guests run all the
time and take turns, A B B A; figures are medians of the rounds, expectations
are on the ratios round by round. QUICK=1 in the environment: fewer rounds and
sizes.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'system'))

# The path above is where these are.
# pylint: disable=wrong-import-position
import fleet
import report
from guest import GuestError
from report import goal, median, note, section, spread, table
from runner import Skip

QUICK = int(os.environ.get('QUICK', '') not in ('', '0'))
SETTINGS = ('off=moder=off', 'dim=moder=dim')
SIZES = (500, 2048) if QUICK else (14, 100, 500, 1400, 2048, 4096)
ROUNDS = 2 if QUICK else 6
SECONDS = 1
GAIN_SIZES = range(500, 2049)
GAIN, WORST, LATENCY = 1.20, 0.98, 1.05


def sockperf(member, mode, *args):
    """What the client printed; it waits for two seconds before it starts."""
    done = subprocess.run(
        ['sockperf', mode, '-i', member.ip, '-p', '11111', '--tcp', '-t',
         str(SECONDS), *args], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=30)
    if done.returncode != 0:
        raise GuestError(f'sockperf: {done.stdout}')
    return done.stdout


def figure(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise GuestError(f'sockperf: {text}')
    return float(found.group(1))


def throughput(member, size):
    def work():
        text = sockperf(member, 'tp', '-m', str(size))
        sent = figure(r'Total of (\d+) messages', text)
        seconds = figure(r'messages sent in ([\d.]+) sec', text)
        return {'sent': sent, 'seconds': seconds, 'rate': sent / seconds}
    c = fleet.measured(member, work)
    # Over TCP nothing is lost; else this measured something else.
    if not 0 <= c['sockperf_messages'] - c['sent'] <= 1:
        raise GuestError(f'{c["sent"]:.0f} messages sent, '
                         f'{c["sockperf_messages"]} received')
    return c


def ping_pong(member):
    def work():
        text = sockperf(member, 'pp', '-m', '14')
        return {'seconds': SECONDS, 'bad': figure(
            r'# dropped messages = (\d+)', text),
                'p50': figure(r'percentile 50\.000 = +([\d.]+)', text),
                'p99': figure(r'percentile 99\.000 = +([\d.]+)', text)}
    return fleet.measured(member, work)


def per_thousand(c):
    return 1000 * c['interrupts'] / max(1, c['rx_frames'])


def column(runs, value):
    return median([value(c) for c in runs])


# ---- throughput ------------------------------------------------------------

def throughput_table(f, first, second):
    section('sockperf tp --tcp, host to guest, thousand messages/s')
    print(f'command  sockperf tp --tcp -i GUEST -p 11111 -m SIZE -t {SECONDS}; '
          f'{ROUNDS} rounds, medians\n')
    rows, gains = [], {}
    for size in SIZES:
        runs = f.rounds(ROUNDS, lambda m, s=size: throughput(m, s))
        rates = {n: [c['rate'] for c in r] for n, r in runs.items()}
        gains[size], _ = report.paired(rates[second], rates[first])
        rows.append([size] + [
            text for n in (first, second) for text in (
                f'{median(rates[n]) / 1e3:.1f}', f'{spread(rates[n]):.0f}',
                f'{column(runs[n], per_thousand):.1f}',
                f'{column(runs[n], lambda c: c["cpu"]):.0f}')] + [
                    f'{gains[size]:.3f}'])
        report.compare(f'tp.{size}', rates, second, first, WORST)
    table(['message'] + [f'{n} {what}' for n in (first, second) for what in (
        'k/s', 'spread %', 'irq/1000', 'CPU %')] + ['ratio'], rows)
    best = max((s for s in gains if s in GAIN_SIZES), key=gains.get)
    goal('tp.best', f'{gains[best]:.3f} at {best}', f'>={GAIN:.3f}',
         gains[best] >= GAIN)


# ---- latency ---------------------------------------------------------------

def latency_table(f, first, second):
    section('sockperf pp --tcp -m 14, one way, us')
    runs = f.rounds(ROUNDS, ping_pong)
    table(('setting', 'p50', 'p99', 'spread of p50 %', 'irq/1000'),
          [(n, f'{column(runs[n], lambda c: c["p50"]):.1f}',
            f'{column(runs[n], lambda c: c["p99"]):.1f}',
            f'{spread([c["p50"] for c in runs[n]]):.0f}',
            f'{column(runs[n], per_thousand):.0f}') for n in (first, second)])
    for name in ('p50', 'p99'):
        ratio, error = report.paired([c[name] for c in runs[second]],
                                     [c[name] for c in runs[first]])
        goal(f'pp.{name}', f'{ratio:.3f}+-{error:.3f}',
             f'<={LATENCY:.3f} of {first}', ratio <= LATENCY)
    bad = sum(c['bad'] for r in runs.values() for c in r)
    goal('pp.dropped', f'{bad:.0f}', '0', bad == 0)


def known(member):
    """A guest that does not know its setting would measure nothing."""
    found = re.search(r'(unknown setting|value not usable).*',
                      member.guest.console.text)
    if found:
        raise Skip(f'{member.name}: the kernel says: {found.group()}')


def main():
    words = sys.argv[1:] or SETTINGS
    if len(words) != 2:
        sys.exit(__doc__)
    appends = dict(word.partition('=')[::2] for word in words)
    report.head(QUICK)
    print('sockperf   ', report.first_line('sockperf', '--version'))
    try:
        with fleet.Fleet(appends) as f:
            for member in f.members.values():
                known(member)
            throughput_table(f, *appends)
            latency_table(f, *appends)
    except Skip as reason:
        note(f'not measured: {reason}')
        sys.exit(1)
    report.summary()


if __name__ == '__main__':
    try:
        fleet.prepare()
    except Skip as no_taps:
        print(f'moder: cannot be run here: {no_taps}')
        sys.exit(0)
    main()

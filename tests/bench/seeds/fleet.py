"""
Guests that differ in one setting, all booted at once, each on a tap of its
own, so that short runs can take turns. A guest without traffic sleeps.

The virtual processor has a core for itself, where there are two; the rest of
QEMU and all that makes traffic share the other one.
"""
import json
import os
import re
import subprocess

import runner
import tap
from guest import Guest, GuestError, ROOT

SEND = os.path.join(ROOT, 'build', 'bench', 'udp_send')
DISCARD = 9


def prepare():
    runner.in_namespace()
    tap.ip('link', 'set', 'lo', 'up')
    if len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {1})  # and all that is started from here


class Member:
    """One guest, and what to do to it."""

    def __init__(self, number, name, append, device):
        self.name = name
        self.tap = f'tap{number}'
        net = f'10.0.{100 + number}.'
        self.ip = net + '15'
        tap.ip('tuntap', 'add', 'dev', self.tap, 'mode', 'tap')
        tap.ip('address', 'add', net + '2/24', 'dev', self.tap)
        tap.ip('link', 'set', self.tap, 'up')
        self.settings = dict(
            net='tap', tap=self.tap, device=device, accel='tcg',
            append=f'ip={self.ip}/24 gw={net}2 {append}'.strip())
        self.guest = Guest(**self.settings)

    def boot(self):
        self.guest.__enter__()
        pin(self.guest)

    def close(self):
        self.guest.close()
        tap.ip('link', 'delete', self.tap)

    def command_line(self):
        env = dict(os.environ, **{k.upper(): v
                                  for k, v in self.settings.items()})
        line = subprocess.run([os.path.join(ROOT, 'boot', 'qemu.sh'),
                               '--print'], env=env, stdout=subprocess.PIPE,
                              text=True, check=True).stdout.strip()
        return line.replace(ROOT + os.sep, '')

    def wire_frames(self, on):
        """The host sends frames of the MTU instead of large ones."""
        tap.ip('link', 'set', 'dev', self.tap, 'gso_max_segs',
               '1' if on else '65535')


def pin(guest):
    """By thread; QEMU's others were born on core 1."""
    found = re.search(r'CPU #0: thread_id=(\d+)', guest.hmp('info cpus'))
    if found and os.cpu_count() > 1:
        try:
            os.sched_setaffinity(int(found.group(1)), {0})
        except OSError:
            pass  # not ours to choose here


class Fleet:
    """Use it in a with statement: {name: kernel command line}, and options
    of the device that all have in common."""

    def __init__(self, appends, device=''):
        self.members = {}
        self._make = [(n, a, device) for n, a in appends.items()]

    def __enter__(self):
        try:
            for i, (name, append, device) in enumerate(self._make):
                member = Member(i, name, append, device)
                self.members[name] = member
                member.boot()
        except BaseException:
            self.close()
            raise
        first = next(iter(self.members.values()))
        print('qemu    ', first.command_line())
        for member in self.members.values():
            print('append  ', member.settings['append'])
        print(flush=True)
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for member in self.members.values():
            member.close()

    def rounds(self, count, work):
        """{name: [work(member) of each round]}, in the order A B B A."""
        found = {name: [] for name in self.members}
        for i in range(count):
            order = list(self.members.values())
            for member in order if i % 2 == 0 else order[::-1]:
                found[member.name].append(work(member))
        return found


# ---- work: each returns the counters' growth and what was measured ---------

def measured(member, work):
    before = member.guest.stats()
    result = work()
    after = member.guest.stats()
    c = {k: v if k.startswith(('now_', 'busy')) else v - before.get(k, 0)
         for k, v in after.items()}
    c.update(result)
    c['cpu'] = min(100.0, c['busy_recent'] * c['uptime_ms'] / 1000 /
                   c['seconds'])
    return c


def iperf3(member, seconds, *args):
    done = subprocess.run(
        ['iperf3', '-c', member.ip, '-J', '-t', str(seconds),
         '--connect-timeout', '3000', *args], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False, timeout=30)
    report = json.loads(done.stdout)
    if 'error' in report:
        raise GuestError(f'iperf3: {report["error"]}')
    end = report['end']['sum_received']
    return {'rate': end['bits_per_second'] / 1e6, 'seconds': end['seconds']}


def tcp(member, seconds, wire=False):
    """Mb/s of stock iperf3, in large frames or in those of the wire."""
    member.wire_frames(wire)
    return measured(member, lambda: iperf3(member, seconds))


def udp(member, seconds, size, per_second):
    """Datagrams a second that arrived; `sent` is what was offered."""
    def work():
        done = subprocess.run(
            [SEND, member.ip, str(DISCARD), str(size), str(seconds),
             str(per_second)], stdout=subprocess.PIPE, text=True, check=True)
        sent, ns = map(int, done.stdout.split())
        return {'sent': sent, 'seconds': ns / 1e9}
    c = measured(member, work)
    c['rate'] = c['discard_udp_in'] / c['seconds'] / 1000
    c['lost'] = 100 * (1 - c['discard_udp_in'] / c['sent'])
    return c

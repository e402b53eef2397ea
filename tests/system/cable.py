#!/usr/bin/env python3
"""
A cable between the guest and the host: a process of its own that hands frames
from one to the other, writes down what passes, and can be a bad cable.

    guest -- QEMU -- tap0 -- bridge -- far0 =[ this ]= host0 -- the host's stack

far0 and host0 are taps whose other ends are held here. A tap offers its
kernel no offload unless its holder asks for some, so that the kernel completes
every checksum and cuts every large frame before it is read here. This is the
one place on the way where frames are as on a wire: on tap0, where the guest's
frames come in, they still have what the device is asked to do ahead of them,
and a capture would show large frames and unfinished checksums. The device is
not spared for that: tap0 keeps all its offloads.

Each frame is seen once, in the order of each direction, and none is lost but
on purpose: the taps' queues hold more than the windows of TCP, and what they
had to drop is counted by the kernel.

Only inside a network namespace of our own, as tap.py.
"""
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import time

import runner
import tap
from guest import _die_with_parent

HOST = 'host0'
FAR = 'far0'
BRIDGE = 'br0'
HOST_IP6 = 'fe80::2'
QUEUE = 10000           # frames that a tap holds for its reader
BATCH = 64              # frames taken from one side before the other's turn
SNAP = 65536

TUNSETIFF = 0x400454ca
TUNSETOFFLOAD = 0x400454d0
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000

PCAP_HEAD = struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, SNAP, 1)

# Parts of all frames, and times in seconds.
CLEAN = dict(loss=0.0, twice=0.0, behind=0.0, late=0.0, late_most=0.0)
BEHIND_FRAMES = 3       # that overtake one
BEHIND_SECONDS = 0.02   # it waits for them no longer than that


# ---- the process ---------------------------------------------------------

def open_tap(name):
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(),
                                           IFF_TAP | IFF_NO_PI))
    fcntl.ioctl(fd, TUNSETOFFLOAD, 0)
    return fd


class Way:
    """One direction: what becomes of each frame is drawn by lot, from a
    sequence that the seed alone decides."""

    def __init__(self, name, source, sink):
        self.name, self.source, self.sink = name, source, sink
        self.quality = dict(CLEAN)
        self.lot = random.Random(0)
        self.passed = 0         # frames that were taken, all in all
        self.counts = {}
        self._held = []         # heap of (due, number, frame)
        self._overtaken = []    # (after so many frames, until, frame)

    def change(self, quality, seed):
        self.quality = dict(CLEAN, **quality)
        self.lot = random.Random(f'{seed} {self.name}')
        self.counts = dict(frames=0, lost=0, twice=0, behind=0, late=0,
                           refused=0)

    def _out(self, frame):
        try:
            os.write(self.sink, frame)
        except OSError:
            self.counts['refused'] += 1

    def take(self, frame, now):
        self.passed += 1
        self.counts['frames'] += 1
        quality, draw = self.quality, self.lot.random
        if draw() < quality['loss']:
            self.counts['lost'] += 1
        elif draw() < quality['behind']:
            self.counts['behind'] += 1
            self._overtaken.append((self.passed + BEHIND_FRAMES,
                                    now + BEHIND_SECONDS, frame))
        elif draw() < quality['late']:
            self.counts['late'] += 1
            heapq.heappush(self._held, (
                now + draw() * quality['late_most'], self.passed, frame))
        else:
            self._out(frame)
            if draw() < quality['twice']:
                self.counts['twice'] += 1
                self._out(frame)

    def let_go(self, now):
        """Sends what has waited long enough; seconds until the next, or
        None."""
        while self._held and self._held[0][0] <= now:
            self._out(heapq.heappop(self._held)[2])
        while self._overtaken and (self._overtaken[0][0] <= self.passed or
                                   self._overtaken[0][1] <= now):
            self._out(self._overtaken.pop(0)[2])
        due = [item[0][at] for item, at in
               ((self._held, 0), (self._overtaken, 1)) if item]
        return min(due) - now if due else None


class Relay:
    """The loop of the process; commands and answers are lines of JSON."""

    def __init__(self):
        far, host = open_tap(FAR), open_tap(HOST)
        self.ways = [Way('to host', far, host), Way('to guest', host, far)]
        self.record = None
        self.change({})

    def change(self, command):
        """New quality, another file to record into, or none; answers what
        was counted since the last one."""
        counts = {way.name: way.counts for way in self.ways}
        if self.record:
            self.record.close()
        self.record = None
        if command.get('record'):
            self.record = open(command['record'], 'wb')
            self.record.write(PCAP_HEAD)
        for way in self.ways:
            way.change(command.get('quality', {}), command.get('seed', 0))
        return counts

    def _note(self, frame):
        now = time.time_ns()
        self.record.write(struct.pack(
            '<IIII', now // 10**9, now % 10**9, len(frame), len(frame)))
        self.record.write(frame)

    def _read(self, way):
        for _ in range(BATCH):
            try:
                frame = os.read(way.source, SNAP)
            except BlockingIOError:
                return
            if self.record:
                self._note(frame)
            way.take(frame, time.monotonic())

    def run(self):
        poll = select.poll()
        by_fd = {way.source: way for way in self.ways}
        for fd in (0, *by_fd):
            poll.register(fd, select.POLLIN)
        wait = None
        while True:
            for fd, _ in poll.poll(None if wait is None else
                                   max(0, wait * 1000)):
                if fd in by_fd:
                    self._read(by_fd[fd])
                elif not self._obey():
                    return
            now = time.monotonic()
            waits = [w for w in (way.let_go(now) for way in self.ways)
                     if w is not None]
            wait = min(waits, default=None)

    def _obey(self):
        line = sys.stdin.readline()
        if line:
            print(json.dumps(self.change(json.loads(line))), flush=True)
        return bool(line)


# ---- its owner -----------------------------------------------------------

def _no_probes():
    """Linux sends its last segment once more when an answer takes long (tail
    loss probe). On a busy machine that happens without any loss, and would
    look like one."""
    path = '/proc/sys/net/ipv4/tcp_early_retrans'
    try:
        with open(path, 'w', encoding='ascii') as f:
            f.write('0')
    except OSError as e:
        raise runner.Skip(f'{path}: {e}') from e


class Cable:
    """Lays the cable; it is there until this process ends."""

    def __init__(self):
        tap.ip('link', 'set', 'lo', 'up')
        tap.ip('link', 'add', BRIDGE, 'type', 'bridge', 'mcast_snooping', '0',
               'forward_delay', '0')
        for name in (tap.NAME, FAR, HOST):
            tap.ip('tuntap', 'add', 'dev', name, 'mode', 'tap')
            tap.ip('link', 'set', name, 'txqueuelen', str(QUEUE))
        # The bridge and its ports must say nothing of their own.
        for name in (tap.NAME, FAR, BRIDGE, HOST):
            tap.ip('link', 'set', name, 'addrgenmode', 'none')
        for name in (tap.NAME, FAR):
            tap.ip('link', 'set', name, 'master', BRIDGE)
        # Linux answers for its addresses on every interface: the bridge would
        # for host0's, and lead the guest past the cable.
        tap.ip('link', 'set', BRIDGE, 'arp', 'off')
        _no_probes()
        self._process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=_die_with_parent)
        tap.ip('address', 'add', tap.HOST_IP + '/24', 'dev', HOST)
        tap.ip('address', 'add', HOST_IP6 + '/64', 'dev', HOST, 'nodad')
        self._say({})  # its answer says that it holds the taps
        for name in (tap.NAME, FAR, BRIDGE, HOST):
            tap.ip('link', 'set', name, 'up')

    def _say(self, command):
        self._process.stdin.write(json.dumps(command) + '\n')
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, 'the cable has broken'
        return json.loads(line)

    def record(self, path):
        """A good cable, which writes down what passes (pcap)."""
        self._say(dict(record=path))

    def worsen(self, seed, record=None, **quality):
        """A bad one; see CLEAN. What it takes, not what it gives, can be
        written down."""
        self._say(dict(quality=quality, seed=seed, record=record))

    def mend(self):
        """A good one again; what was counted since the last change, by
        direction."""
        return self._say({})


def kernel_drops():
    """Frames that the kernel did not pass on, by interface: what a reader's
    queue did not hold, and what it refused to take from QEMU, such as a
    header that asks for the impossible."""
    drops = {}
    with open('/proc/self/net/dev', encoding='ascii') as f:
        for line in f.readlines()[2:]:
            name, values = line.split(':')
            values = [int(v) for v in values.split()]
            # receive errs, drop, fifo, frame; transmit the same
            drops[name.strip()] = sum(values[2:6] + values[10:13])
    return {n: drops[n] for n in (tap.NAME, FAR, HOST)}


def guest_ip6():
    """The guest's address, as seen from the host's end."""
    return tap.link_local().replace('%' + tap.NAME, '%' + HOST)


def lay():
    """In a namespace of our own; raises Skip where there can be none."""
    runner.in_namespace()
    return Cable()


if __name__ == '__main__':
    Relay().run()

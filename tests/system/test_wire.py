#!/usr/bin/env python3
"""
What the guest puts on the wire, judged by tshark: checksums, lengths,
fragments, segments within the MSS, nothing sent twice. The product of what
changes how a frame is made: who computes checksums, who cuts large frames,
whether the stack makes any, how the driver learns that they are gone.

    tests/system/test_wire.py            a choice, for `make test`
    VIREO_WIRE=all ... (make test-wire)  all of them
"""
import itertools
import os
import socket
import struct
import tempfile

import cable
import runner
import traffic
import wire
from guest import Guest

ECHO = 7
ALL = os.environ.get('VIREO_WIRE') == 'all'

# What the device may do for the driver.
OFFLOADS = {
    'none': 'refuse=CSUM,HOST_TSO4,HOST_TSO6',
    'csum': 'refuse=HOST_TSO4,HOST_TSO6',
    'tso': '',
}
# How the driver and the stack use it.
SETTINGS = {'default': ''} | {
    f'gso_{gso}_{mode}': f'gso={gso} tx-mode={mode}'
    for gso, mode in itertools.product(('on', 'off'),
                                       ('interrupt', 'orphan'))
}
PRODUCT = list(itertools.product(OFFLOADS, SETTINGS))
# The defaults, then every value of each of the three.
CHOICE = [*((offload, 'default') for offload in OFFLOADS),
          ('tso', 'gso_on_orphan'), ('tso', 'gso_off_interrupt'),
          ('csum', 'gso_off_orphan'), ('none', 'gso_on_orphan')]

TCP_SIZES = (1, 60, 1460, 1472, 1473, 8000)
# Those of an MTU, and 2 * 1480 - 8: the last fragment is a full one.
UDP_SIZES = (0, 1, 60, 1460, 1472, 1473, 2952, 8000, 60000)
UDP6_SIZES = UDP_SIZES + (1452, 1453)
MSS = (1459, 1001, 536)  # the peer's; odd ones begin segments at odd places
BULK = 1 << 20

laid = None             # the cable, once prepare() has run


# ---- traffic -------------------------------------------------------------

def tcp_sizes(host):
    """Each size as a write of its own, echoed before the next."""
    with traffic.connect(host, ECHO) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in TCP_SIZES:
            data = os.urandom(size)
            s.sendall(data)
            assert traffic.receive(s, size) == data, f'{size} bytes by TCP'


def ones_sum(data):
    """Of 16-bit words, as in RFC 1071."""
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def sums_to_zero(s, size):
    """A payload for which the answer's checksum is 0, which must be sent as
    0xffff: 0 means none (RFC 768). The sum is the same both ways."""
    ends = [s.getsockname(), s.getpeername()]
    pseudo = b''.join(socket.inet_pton(s.family, end[0].split('%')[0])
                      for end in ends)
    pseudo += struct.pack('!4H', 17, 8 + size, 8 + size, 0)
    pseudo += struct.pack('!2H', *(end[1] for end in ends))
    payload = os.urandom(size - 2)
    rest = 0xffff - ones_sum(pseudo + payload)
    return payload + struct.pack('!H', rest)


def udp_sizes(host, sizes):
    with traffic.udp_socket(host, ECHO) as s:
        for size in sizes:
            traffic.udp_exchange(s, os.urandom(size))
        for size in (100, 1400):
            traffic.udp_exchange(s, sums_to_zero(s, size))


def all_kinds(host, sizes):
    """One at a time, so that a fault is easily found in the capture."""
    for size in (0, 1473, 8001):
        traffic.check_ping(host, '-c', '1', '-s', str(size))
    tcp_sizes(host)
    udp_sizes(host, sizes)
    traffic.echo_hash(host, ECHO, BULK)
    for mss in MSS:
        traffic.echo_hash(host, ECHO, BULK // 8, mss=mss)


# ---- verdicts ------------------------------------------------------------

def boot(append, **settings):
    return Guest(net='tap', tap=cable.tap.NAME, append=append, **settings)


def greet(g):
    """The addresses are there, and both sides know the other's."""
    g.wait_for('en0 address FE80::', 10)
    for host in (g.host, cable.guest_ip6()):
        traffic.check_ping(host, '-c', '1')


def judged(path, work, device_sums=True):
    """Records what work() puts on the wire; the judge, without a fault."""
    drops = cable.kernel_drops()
    laid.record(path)
    try:
        work()
    finally:
        laid.mend()
    assert cable.kernel_drops() == drops, \
        f'the kernel dropped frames: {drops}, then {cable.kernel_drops()}'
    return wire.judge(path, device_sums=device_sums)


def check_family(host, sizes, device_sums):
    """The capture has what was asked for: else the verdict means little."""
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        found = judged(os.path.join(folder, 'capture'),
                       lambda: all_kinds(host, sizes), device_sums)
    missing = set(sizes) - found.udp_sizes
    assert not missing, f'no datagrams of {sorted(missing)} bytes'
    assert found.udp_ffff >= 2, 'no checksum came out as 0'
    icmp = 'icmpv6' if ':' in host else 'icmp'
    for kind in ('tcp', 'udp', icmp):
        assert found.seen.get(kind), f'no {kind} from the guest: {found.seen}'
    assert found.full > 100, f'{found.full} full segments'


def check(offload, setting):
    with boot(f'{OFFLOADS[offload]} {SETTINGS[setting]}'.strip()) as g:
        traffic.need_settings(g)
        greet(g)
        for host, sizes in ((g.host, UDP_SIZES),
                            (cable.guest_ip6(), UDP6_SIZES)):
            check_family(host, sizes, device_sums=offload != 'none')
        left = g.stats()['tx_csum']
        assert (left > 0) == (offload != 'none'), \
            f'{left} checksums left to the device'
        traffic.works_again(lambda: traffic.check_counters(g), 5)


MORE_TESTS = [
    runner.named(check, f'test_wire_{offload}_{setting}', offload=offload,
                 setting=setting)
    for offload, setting in (PRODUCT if ALL else CHOICE)
]


# ---- the judge is awake --------------------------------------------------

def flip(frame, at):
    frame[at] ^= 0x01
    return [frame]


TRANSPORT = wire.ETHER + 20     # where TCP begins in the guest's IPv4 frames

# What is done to a full segment of the guest, and what must be said of it.
SPOILT = {
    'payload': (lambda f: flip(f, -1), 'tcp checksum'),
    'tcp_checksum': (lambda f: flip(f, TRANSPORT + 16), 'tcp checksum'),
    'ip_checksum': (lambda f: flip(f, wire.ETHER + 10), 'ip checksum'),
    'padding': (lambda f: [f + b'\0\0'], 'its IP header says'),
    'cut': (lambda f: [f[:-2]], 'its IP header says'),
    'lost': (lambda f: [], 'lost_segment'),
    'twice': (lambda f: [f, f], 'retransmission'),
}


def records(capture):
    """The records of a capture of cable.py: (head, frame)."""
    at = len(cable.PCAP_HEAD)
    while at < len(capture):
        size, = struct.unpack_from('<I', capture, at + 8)
        yield capture[at:at + 16], capture[at + 16:at + 16 + size]
        at += 16 + size


def spoil(capture, change):
    """The capture with one full segment of the guest changed."""
    out, mine = [cable.PCAP_HEAD], bytes.fromhex(
        wire.GUEST_MAC.replace(':', ''))
    todo = 20
    for head, frame in records(capture):
        frames = [frame]
        if frame[6:12] == mine and len(frame) == wire.ETHER + wire.MTU:
            todo -= 1
            if todo == 0:
                frames = change(bytearray(frame))
        for f in frames:
            out += [head[:8], struct.pack('<II', len(f), len(f)), f]
    assert todo <= 0, 'no such segment'
    return b''.join(out)


def test_wire_judge_is_awake():
    """One frame is changed in a good capture, each time in another way."""
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        path = os.path.join(folder, 'capture')
        with boot('') as g:
            greet(g)
            judged(path, lambda: traffic.echo_hash(g.host, ECHO, BULK // 8))
        with open(path, 'rb') as f:
            good = f.read()
        for name, (change, said) in SPOILT.items():
            with open(path, 'wb') as f:
                f.write(spoil(good, change))
            try:
                wire.judge(path)
            except AssertionError as e:
                assert said in str(e), f'{name}: {e}'
            else:
                raise AssertionError(f'{name}: no fault was found')


def prepare():
    global laid
    if not wire.available():
        raise runner.Skip('tshark is not installed (boot/setup.sh capture)')
    laid = cable.lay()


if __name__ == '__main__':
    runner.main(globals(), prepare)

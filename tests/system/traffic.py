"""
Traffic for a guest, from the host: stock iperf3, echo connections, pings,
and peers that misbehave.
"""
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

from runner import Skip

MIB = 1 << 20
# Socket buffers for iperf3, which would fill megabytes of them otherwise, and
# what all buffers on a stream's way may hold even so. QEMU's user networking
# has sockets of its own, which grow to their limit.
WINDOW = '64K'
UNDER_WAY_USER = 5 * MIB
UNDER_WAY_TAP = MIB // 2


# ---- iperf3 ----------------------------------------------------------------

def iperf3_command(host, port, *args):
    return ['iperf3', '-c', host, '-p', str(port), '-J',
            '--connect-timeout', '3000', *args]


def iperf3(host, port, *args, seconds=20):
    """Runs the host's client; returns its report, which has no error."""
    if not shutil.which('iperf3'):
        raise Skip('iperf3 is not installed')
    try:
        done = subprocess.run(iperf3_command(host, port, *args),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=seconds,
                              text=True, check=False)
    except subprocess.TimeoutExpired as e:
        raise AssertionError(f'iperf3 {args}: not done in {seconds} s') from e
    try:
        report = json.loads(done.stdout)
    except ValueError as e:
        raise AssertionError(f'iperf3 {args}: {done.stdout}{done.stderr}') \
            from e
    assert 'error' not in report, f'iperf3 {args}: {report["error"]}'
    assert done.returncode == 0, f'iperf3 {args}: {done.returncode}'
    return report


def counted(g, tests, seconds=3):
    """The guest's counters once it, too, is done with so many tests."""
    deadline = time.monotonic() + seconds
    while True:
        stats = g.stats()
        if stats['iperf3_done'] == tests:
            return stats
        assert time.monotonic() < deadline, \
            f'{stats["iperf3_done"]} tests done, not {tests}'


def iperf3_tcp(g, *args, host=None, port=None, least=MIB, seconds=20):
    """A test over TCP that both ends, and the guest's own counters, agree
    on. With another host or port than the guest's own if asked for."""
    before = g.stats()
    report = iperf3(host or g.host, port or g.port, '-w', WINDOW, *args,
                    seconds=seconds)
    after = counted(g, before['iperf3_done'] + 1)
    under_way = report['start']['test_start']['num_streams'] * (
        UNDER_WAY_USER if g.host == '127.0.0.1' else UNDER_WAY_TAP)
    check_tcp(report, least, under_way)
    for name, sent, received in sums(report):
        to_guest = name == 'forward' and not \
            report['start']['test_start']['reverse']
        counter = 'iperf3_rx_bytes' if to_guest else 'iperf3_tx_bytes'
        count = after[counter] - before[counter]
        # The guest goes on for a moment after its figures were taken.
        least, most = (received['bytes'], sent['bytes']) if to_guest else \
            (sent['bytes'], sent['bytes'] + under_way)
        assert least <= count <= most, \
            f'{name}: sent {sent["bytes"]}, received {received["bytes"]}, ' \
            f'guest counted {count}'
    return report


def sums(report):
    """The pairs (name, sent, received) of a report on TCP; --bidir has two."""
    end = report['end']
    pairs = [('forward', end['sum_sent'], end['sum_received'])]
    if 'sum_sent_bidir_reverse' in end:
        pairs.append(('reverse', end['sum_sent_bidir_reverse'],
                      end['sum_received_bidir_reverse']))
    return pairs


def check_tcp(report, least, under_way):
    """Bytes went through, and both ends counted the same, within 1 % and
    what may have been under way when the sender stopped its clock."""
    for name, sent, received in sums(report):
        a, b = sent['bytes'], received['bytes']
        assert b >= least, f'{name}: {b} bytes received'
        assert b <= a, f'{name}: {a} bytes sent, {b} received'
        assert a - b <= a // 100 + under_way, \
            f'{name}: {a} bytes sent, {b} received'
    return report


def check_udp(report, most_lost=100):
    """A loss figure that can be one, and datagrams that arrived."""
    total = report['end']['sum']
    packets, lost = total['packets'], total['lost_packets']
    assert packets > 0, f'no packets: {total}'
    assert 0 <= lost <= packets, f'lost {lost} of {packets}'
    percent = 100 * lost / packets
    assert abs(total['lost_percent'] - percent) < 0.01, f'{total}'
    assert percent <= most_lost, f'{percent:.1f} % lost of {packets}'
    assert lost < packets, 'nothing arrived'
    assert 0 <= total['jitter_ms'] < 1000, f'jitter {total["jitter_ms"]} ms'
    return report


# ---- echo ------------------------------------------------------------------

def connect(host, port, seconds=10, mss=None):
    """A connection; with an MSS of our own, announced to the guest."""
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM)[0]
    s = socket.socket(family, socket.SOCK_STREAM)
    try:
        if mss:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        s.settimeout(seconds)
        s.connect(address)
    except BaseException:
        s.close()
        raise
    return s


def receive(s, size):
    """That many bytes; fewer only when the peer has closed."""
    data = b''
    while len(data) < size:
        piece = s.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


def _send_all(s, data):
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the receiving side notices


def echo_hash(host, port, size=8 * MIB, seconds=30, mss=None):
    """Random data to the echo server and back: the same must return."""
    data = os.urandom(size)
    digest = hashlib.sha256()
    got = 0
    with connect(host, port, seconds, mss) as s:
        sender = threading.Thread(target=_send_all, args=(s, data))
        sender.start()
        try:
            while True:
                piece = s.recv(1 << 18)
                if not piece:
                    break
                got += len(piece)
                digest.update(piece)
        except OSError as e:
            raise AssertionError(f'echo: {e} after {got} of {size} bytes') \
                from e
        finally:
            s.close()
            sender.join()
    assert got == size, f'echo: {got} of {size} bytes came back'
    assert digest.digest() == hashlib.sha256(data).digest(), \
        'echo: other bytes came back'


def echo_once(host, port, text=b'hello, guest\n', seconds=5):
    """One short connection."""
    with connect(host, port, seconds) as s:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        got = receive(s, len(text) + 1)
    assert got == text, f'echo: {got!r} for {text!r}'


def udp_socket(host, port, seconds=5):
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_DGRAM)[0]
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(seconds)
    s.connect(address)
    return s


def udp_exchange(s, data):
    """A datagram and its answer, where none is lost."""
    s.send(data)
    try:
        got = s.recv(65536)
    except socket.timeout:
        raise AssertionError(f'no answer to {len(data)} bytes by UDP') \
            from None
    assert got == data, f'other bytes came back: {len(data)} by UDP'


def udp_echo(host, port, size=100, tries=5):
    """A datagram and its answer; datagrams may be lost, so a few tries."""
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        for _ in range(tries):
            text = os.urandom(size)
            try:
                s.sendto(text, (host, port))
                while s.recv(65535) != text:
                    pass
                return
            except socket.timeout:
                continue
    raise AssertionError(f'no answer to {tries} datagrams of {size} bytes')


# ---- ping ------------------------------------------------------------------

def ping(host, *args, seconds=30):
    """Returns (sent, received)."""
    if not shutil.which('ping'):
        raise Skip('ping is not installed')
    done = subprocess.run(['ping', '-n', '-q', *args, host],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=seconds, text=True, check=False)
    found = re.search(r'(\d+) packets transmitted, (\d+) received',
                      done.stdout)
    assert found, f'ping {args}: {done.stdout}'
    return int(found.group(1)), int(found.group(2))


def check_ping(host, *args):
    """All are answered. For the answer to its last request ping waits no
    longer than twice the time the others took, so that one may seem lost
    when the host is busy: then once more."""
    for _ in range(3):
        sent, received = ping(host, *args)
        if received != sent - 1:
            break
    assert sent > 0 and received == sent, \
        f'ping {args}: {received} of {sent} answered'


# ---- trouble ---------------------------------------------------------------

def works_again(attempt, seconds=8):
    """attempt() must succeed within that time; returns how long it took."""
    start = time.monotonic()
    while True:
        try:
            attempt()
            return time.monotonic() - start
        except (AssertionError, OSError):
            if time.monotonic() - start > seconds:
                raise
            time.sleep(0.2)


def at_once(count, work):
    """work() in so many threads; the first failure is raised."""
    failures = []

    def run():
        try:
            work()
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


# ---- the guest's state -----------------------------------------------------

def need_settings(g):
    """Skips when this kernel did not take what its command line says: the
    test would then be of something else than its name."""
    found = re.search(r'unknown setting .*', g.console.text)
    if found:
        raise Skip('this kernel: ' + found.group())


def card_name(g):
    """The network card, as set_link calls it."""
    for line in g.hmp('info network').splitlines():
        if 'type=nic' in line or 'virtio-net-pci' in line:
            return line.split(':')[0].strip()
    raise AssertionError(g.hmp('info network'))


def check_counters(g):
    """In a guest that rests, every buffer is back and nothing is broken."""
    stats = g.stats()
    for name in ('rx_bufs_held', 'ring_broken', 'resets', 'tx_invalid',
                 'tx_watchdog', 'rx_drop_len_bad', 'rx_drop_short',
                 'rx_drop_num_buffers', 'rx_drop_incomplete', 'rx_drop_gso',
                 'rx_drop_csum', 'net_if_tx_invalid'):
        assert stats[name] == 0, f'{name} {stats[name]}'
    assert stats['tx_done'] == stats['tx_frames'], 'frames not returned'

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


def sums(report):
    """The pairs (name, sent, received) of a report on TCP; --bidir has two."""
    end = report['end']
    pairs = [('forward', end['sum_sent'], end['sum_received'])]
    if 'sum_sent_bidir_reverse' in end:
        pairs.append(('reverse', end['sum_sent_bidir_reverse'],
                      end['sum_received_bidir_reverse']))
    return pairs


def check_tcp(report, least=1):
    """Bytes went through, and both ends counted the same within 1 %."""
    for name, sent, received in sums(report):
        a, b = sent['bytes'], received['bytes']
        assert b >= least, f'{name}: {b} bytes received'
        # What is under way at the end counts for one side only; of a short
        # or slow run that is more than a part in a hundred.
        allowed = max(a // 100, 0)
        assert abs(a - b) <= allowed, \
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

def connect(host, port, seconds=10):
    s = socket.create_connection((host, port), timeout=seconds)
    s.settimeout(seconds)
    return s


def _send_all(s, data):
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the receiving side notices


def echo_hash(host, port, size=8 * MIB, seconds=30):
    """Random data to the echo server and back: the same must return."""
    data = os.urandom(size)
    digest = hashlib.sha256()
    got = 0
    with connect(host, port, seconds) as s:
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
        got = b''
        while True:
            piece = s.recv(4096)
            if not piece:
                break
            got += piece
    assert got == text, f'echo: {got!r} for {text!r}'


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
    sent, received = ping(host, *args)
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

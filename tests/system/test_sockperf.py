#!/usr/bin/env python3
"""
Stock sockperf against the guest's server, over a tap interface: every mode
of the client, with its own verdict and the guest's counters.
"""
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile

import runner
import tap
import traffic
from runner import Skip, on

TAP = on(net='tap', tap=tap.NAME, machine='q35')
PORT = 11111
CLIENT, ANSWER = 1, 2
HEADER = struct.Struct('>QHI')
VERDICT = re.compile(r'# dropped messages = (\d+); # duplicated messages = '
                     r'(\d+); # out-of-order messages = (\d+)')
TOTAL = re.compile(r'\[Total Run\].*SentMessages=(\d+); '
                   r'ReceivedMessages=(\d+)')
SENT = re.compile(r'Total of (\d+) messages sent')


def prepare():
    if not shutil.which('sockperf'):
        raise Skip('sockperf is not installed (boot/setup.sh bench)')
    tap.prepare()


# ---- the client ------------------------------------------------------------

def client(g, mode, *args, seconds=1):
    command = ['sockperf', mode, '-i', g.host, '-p', str(PORT), *args]
    if mode != 'playback':
        command += ['-t', str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def output(process):
    try:
        text, _ = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
        raise AssertionError(f'not done in time\n{text}') from None
    assert process.returncode == 0, f'{process.returncode}\n{text}'
    return text


def numbers(pattern, text):
    found = pattern.search(text)
    assert found, text
    return [int(n) for n in found.groups()]


def judged(text, least, most_lost=0):
    """(sent, received) of a test with answers, none of them wrong."""
    sent, received = numbers(TOTAL, text)
    dropped, twice, disordered = numbers(VERDICT, text)
    assert received >= least, f'{received} answers\n{text}'
    assert twice == disordered == 0, text
    assert dropped <= most_lost, text
    return sent, received


def growth(g, before, *names):
    after = g.stats()
    return [after['sockperf_' + n] - before['sockperf_' + n] for n in names]


def check_clean(g, before):
    bad = growth(g, before, 'bad_length', 'not_client', 'stalled', 'refused')
    assert bad == [0, 0, 0, 0], bad


# The client waits for two seconds before it begins, so clients run side by
# side here; what the guest counts is the sum.

@TAP
def test_sockperf_throughput(g):
    """Every message sent has been received, to the byte; no answer."""
    sizes = (14, 100, 500, 1400, 2048, 4096, 65507, 1048575)
    before = g.stats()
    running = [client(g, 'tp', '--tcp', '-m', str(m)) for m in sizes]
    sent = [numbers(SENT, output(c))[0] for c in running]
    assert all(sent), sent
    count_bytes = sum(n * m for n, m in zip(sent, sizes))

    def all_there():
        count, answers, total = growth(g, before, 'messages', 'answers',
                                       'rx_bytes')
        # The timer may have cut the last message of each short.
        assert 0 <= count - sum(sent) <= len(sizes), (count, sent)
        assert 0 <= total - count_bytes < sum(sizes), (total, sent)
        assert answers == 0, f'{answers} answers'
    traffic.works_again(all_there, 5)
    check_clean(g, before)


@TAP
def test_sockperf_throughput_alone(g):
    before = g.stats()
    sent, = numbers(SENT, output(client(g, 'tp', '--tcp', '-m', '1400')))
    assert sent > 5000, f'{sent} messages sent'
    traffic.works_again(lambda: numbers_match(g, before, sent), 5)


def numbers_match(g, before, sent):
    count, total = growth(g, before, 'messages', 'rx_bytes')
    assert 0 <= count - sent <= 1, (count, sent)
    assert 0 <= total - 1400 * sent < 1400, (total, sent)


@TAP
def test_sockperf_throughput_udp(g):
    before = g.stats()
    sent, = numbers(SENT, output(client(g, 'tp', '-m', '100')))
    count, answers, udp = growth(g, before, 'messages', 'answers', 'udp_in')
    assert 1000 < count <= sent, f'{count} of {sent} messages'
    assert answers == 0 and udp == count, (answers, udp)
    check_clean(g, before)


# ---- answers ---------------------------------------------------------------

def answered(g, mode, cases, least):
    """Clients that want an answer to every message."""
    before = g.stats()
    running = [client(g, mode, *args) for args in cases]
    results = [judged(output(c), least) for c in running]
    asked = sum(sent for sent, _ in results)
    count, answers = growth(g, before, 'messages', 'answers')
    # A client ends in the middle of whatever it does, and may take its
    # last messages with it.
    assert count == answers, (count, answers)
    assert asked - 50 * len(cases) <= count <= asked, (count, asked)
    check_clean(g, before)


@TAP
def test_sockperf_ping_pong_tcp(g):
    answered(g, 'pp', [('--tcp', '-m', str(m))
                       for m in (14, 1400, 65507, 300000, 1048575)], 3)


@TAP
def test_sockperf_ping_pong_udp(g):
    answered(g, 'pp', [('-m', str(m)) for m in (14, 1400, 65507)], 20)


@TAP
def test_sockperf_ping_pong_alone(g):
    """Nothing else on the line: one message, one answer."""
    for args in (('--tcp',), ()):
        before = g.stats()
        sent, received = judged(output(client(g, 'pp', *args)), 200)
        assert sent - received <= 1, (sent, received)
        count, answers = growth(g, before, 'messages', 'answers')
        assert count == answers == sent, (count, answers, sent)


@TAP
def test_sockperf_bursts(g):
    """Fifty questions at once, and then as many answers."""
    answered(g, 'pp', [('--tcp', '-b', '50'), ('-b', '50')], 1000)


@TAP
def test_sockperf_under_load(g):
    """Most messages want no answer; lengths vary in the third case."""
    before = g.stats()
    running = [client(g, 'ul', '--mps=2000', *args) for args in (
        ('--tcp', '-m', '100'), ('-m', '100'),
        ('--tcp', '-m', '700', '-r', '600', '--reply-every=3'),
        ('-m', '700', '-r', '600', '--reply-every=3'))]
    sent = sum(judged(output(c), 8)[0] for c in running)
    count, answers = growth(g, before, 'messages', 'answers')
    assert sent - 100 <= count <= sent, (count, sent)
    assert count // 8 < answers < count // 4, (count, answers)
    check_clean(g, before)


@TAP
def test_sockperf_under_load_all_answered(g):
    answered(g, 'ul', [('--tcp', '--mps=2000', '--reply-every=1'),
                       ('--mps=2000', '--reply-every=1')], 800)


@TAP
def test_sockperf_as_fast_as_it_goes(g):
    """Every message answered, and more of them than the guest can do: it
    slows the client down, and works for others as soon as that is over."""
    text = output(client(g, 'ul', '--tcp', '-m', '500', '--mps=max',
                         '--reply-every=1'))
    judged(text, 1000, most_lost=1 << 30)
    traffic.works_again(lambda: traffic.check_ping(
        g.host, '-c', '3', '-i', '0.1'), 3)
    ask_once(g)


@TAP
def test_sockperf_playback(g):
    """Messages of a file: time in seconds, size."""
    sizes = (14, 100, 1400, 20000)
    before = g.stats()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'messages')
        with open(path, 'w', encoding='ascii') as f:
            for i in range(1000):
                f.write(f'{1 + i * 0.001:.6f}, {sizes[i % 4]}\n')
        running = [client(g, 'playback', '--data-file', path,
                          '--reply-every', '10', *more)
                   for more in ((), ('--tcp',))]
        for c in running:
            assert judged(output(c), 100) == (1000, 100)
    found = growth(g, before, 'messages', 'answers')
    assert found == [2000, 200], found
    check_clean(g, before)


# ---- several clients -------------------------------------------------------

@TAP
def test_sockperf_two_clients(g):
    """A throughput test and a ping-pong over TCP, side by side."""
    before = g.stats()
    bulk = client(g, 'tp', '--tcp', '-m', '1400')
    pong = client(g, 'pp', '--tcp', '-m', '100')
    sent, = numbers(SENT, output(bulk))
    asked, _ = judged(output(pong), 20)
    count, answers = growth(g, before, 'messages', 'answers')
    assert answers == asked, (answers, asked)
    assert 0 <= count - sent - asked <= 1, (count, sent, asked)
    check_clean(g, before)


@TAP
def test_sockperf_sockets_from_a_file(g):
    """One client, six sockets of both kinds."""
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        f.write(f'T:{g.host}:{PORT}\nU:{g.host}:{PORT}\n' * 3)
        f.flush()
        with subprocess.Popen(
                ['sockperf', 'pp', '-f', f.name, '-F', 'e', '-t', '1'],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True) as process:
            judged(output(process), 100)


# ---- what the stock client of this version cannot do -----------------------

def message(seq, flags, size):
    return HEADER.pack(seq, flags, size) + bytes(
        (seq + i) & 0xff for i in range(size - HEADER.size))


def answer_to(asked):
    seq, flags, size = HEADER.unpack(asked[:HEADER.size])
    return HEADER.pack(seq, flags & ~CLIENT, size) + asked[HEADER.size:]


def ask_once(g):
    asked = message(1, CLIENT | ANSWER, 200)
    with traffic.connect(g.host, PORT) as s:
        s.sendall(asked)
        assert traffic.receive(s, len(asked)) == answer_to(asked)


@TAP
def test_sockperf_ipv6(g):
    host = tap.link_local()
    g.wait_for('en0 address FE80::', 10)
    asked = message(1, CLIENT | ANSWER, 3000)
    with traffic.connect(host, PORT) as s:
        s.sendall(message(0, CLIENT, 500) + asked)
        assert traffic.receive(s, len(asked)) == answer_to(asked)
    address = socket.getaddrinfo(host, PORT, type=socket.SOCK_DGRAM)[0][4]
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.sendto(asked, address)
        assert s.recv(65536) == answer_to(asked)


@TAP
def test_sockperf_malformed(g):
    """The connection ends at once, and the server goes on."""
    before = g.stats()
    for size in (0, 13, 1 << 20, (1 << 32) - 1):
        with traffic.connect(g.host, PORT) as s:
            s.sendall(HEADER.pack(1, CLIENT | ANSWER, size) + b'x' * 100)
            try:
                assert s.recv(1) == b'', 'an answer'
            except ConnectionResetError:
                pass
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(HEADER.pack(1, CLIENT | ANSWER, size), (g.host, PORT))
    with traffic.connect(g.host, PORT) as s:
        s.sendall(message(0, CLIENT | ANSWER, 100)[:50])
    ask_once(g)

    def counted():
        found = growth(g, before, 'bad_length', 'cut_short')
        assert found == [8, 1], found
    traffic.works_again(counted, 3)


@TAP
def test_sockperf_nothing_is_kept(g):
    traffic.works_again(lambda: traffic.check_counters(g), 10)


if __name__ == '__main__':
    runner.main(globals(), prepare)

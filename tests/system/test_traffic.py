#!/usr/bin/env python3
"""
Traffic over user networking: iperf3 in its modes, echo, many connections,
peers that misbehave, a machine that stops for a while.
"""
import signal
import socket
import subprocess
import time

import runner
import traffic
from runner import on
from traffic import MIB, iperf3, iperf3_tcp

USER = on(machine='q35')
SHORT_CONNECTIONS = 200
CONNECTIONS_AT_ONCE = 20


@USER
def test_echo(g):
    traffic.echo_hash(g.host, g.echo)


@USER
def test_udp_echo(g):
    for size in (1, 100, 1400, 4000):
        traffic.udp_echo(g.host, g.echo, size)


@USER
def test_short_connections(g):
    """A row of them, each closed in good order."""
    before = g.stats()
    for _ in range(SHORT_CONNECTIONS):
        traffic.echo_once(g.host, g.echo)
    after = g.stats()
    for name, count in (('echo_accepted', SHORT_CONNECTIONS),
                        ('echo_closed', SHORT_CONNECTIONS),
                        ('echo_failed', 0), ('echo_refused', 0)):
        assert after[name] - before[name] == count, \
            f'{name}: {before[name]} -> {after[name]}'


@USER
def test_open_connections(g):
    """Many at the same time, used in turn."""
    open_ones = []
    try:
        for _ in range(CONNECTIONS_AT_ONCE):
            # QEMU lets one connection wait for it at a time: one by one.
            s = traffic.connect(g.host, g.echo)
            open_ones.append(s)
            s.sendall(b'first')
            assert traffic.receive(s, 5) == b'first'
        for s in open_ones:
            s.sendall(b'then')
        for s in open_ones:
            assert traffic.receive(s, 4) == b'then'
    finally:
        for s in open_ones:
            s.close()


@USER
def test_chargen(g):
    """The pattern is right as far as it is read, then the reader leaves."""
    line = ''.join(chr(32 + i) for i in range(95)) * 2
    with traffic.connect(g.host, g.chargen) as s:
        got = traffic.receive(s, 100 * 74).decode('ascii')
    for i, text in enumerate(got.splitlines()):
        assert text == line[i % 95:][:72], f'line {i}: {text!r}'


@USER
def test_iperf3_forward(g):
    iperf3_tcp(g, '-t', '1')


@USER
def test_iperf3_reverse(g):
    iperf3_tcp(g, '-t', '1', '-R')


@USER
def test_iperf3_parallel(g):
    # QEMU lets one connection wait at a time, the others come a second later.
    report = iperf3_tcp(g, '-t', '1', '-P', '4')
    for stream in report['end']['streams']:
        assert stream['receiver']['bytes'] > 0, 'a stream got nothing'


@USER
def test_iperf3_both_ways(g):
    iperf3_tcp(g, '-t', '1', '--bidir')


@USER
def test_iperf3_number_of_bytes(g):
    iperf3_tcp(g, '-n', '20M', least=19 * MIB)
    iperf3_tcp(g, '-n', '20M', '-R', least=20 * MIB)


@USER
def test_iperf3_udp_forward(g):
    traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b', '20M'),
                      most_lost=20)


@USER
def test_iperf3_udp_reverse(g):
    traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b', '20M',
                             '-R'), most_lost=20)


@USER
def test_iperf3_udp_fast(g):
    """More than may get through; the figures must still make sense."""
    traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b', '100M'))
    traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b', '100M',
                             '-R'))


def iperf3_again(g, seconds=8):
    """The server takes the next client, soon."""
    traffic.works_again(lambda: iperf3_tcp(g, '-R', '-n', '1M'), seconds)


@USER
def test_client_killed(g):
    """Killed in the middle of a test, in both directions."""
    for args in ((), ('-R',), ('-u', '-b', '10M')):
        client = subprocess.Popen(
            traffic.iperf3_command(g.host, g.port, '-t', '30', *args),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.7)
        running = client.poll() is None
        client.kill()
        client.wait()
        assert running, 'the client ended by itself'
        iperf3_again(g)


@USER
def test_garbage_on_the_control_connection(g):
    cookie = b'a' * 36 + b'\0'
    for text in (b'', b'GET / HTTP/1.0\r\n\r\n', bytes(range(256)) * 400,
                 cookie + b'\xff\xff\xff\xff{"tcp":true}',
                 cookie + b'\0\0\0\x0c{"tcp":true,',
                 cookie + b'\0\0\x10\0' + b'[' * 4096,
                 cookie + b'\0\0\0\x02{}' + b'\x01\x04\x0f\x0c' * 9):
        with traffic.connect(g.host, g.port) as s:
            try:
                s.sendall(text)
                s.settimeout(0.2)
                s.recv(100)
            except OSError:
                pass
        iperf3_again(g)


@USER
def test_client_stalls(g):
    """One that says nothing more must not keep the others out."""
    cookie = b'b' * 36 + b'\0'
    with traffic.connect(g.host, g.port) as s:
        s.sendall(cookie)
        time.sleep(0.5)
        iperf3_again(g, 20)


@USER
def test_client_stopped_in_a_test(g):
    """Frozen while it receives: data waits, and nobody reads it."""
    client = subprocess.Popen(
        traffic.iperf3_command(g.host, g.port, '-t', '30', '-R'),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.7)
        client.send_signal(signal.SIGSTOP)
        time.sleep(1)
        traffic.echo_once(g.host, g.echo)
    finally:
        client.kill()
        client.wait()
    iperf3_again(g, 20)


@USER
def test_discard_flood(g):
    """Datagrams as fast as they go, which nobody answers."""
    before = g.stats()['discard_udp_in']
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((g.host, g.discard))
        end = time.monotonic() + 1
        while time.monotonic() < end:
            for _ in range(100):
                try:
                    s.send(b'x' * 1000)
                except ConnectionRefusedError:
                    pass
    traffic.echo_hash(g.host, g.echo, MIB)
    assert g.stats()['discard_udp_in'] > before, 'no datagram arrived'


@USER
def test_stopped_machine(g):
    """Five seconds that pass for the world only."""
    before = g.stats()['uptime_ms']
    with traffic.connect(g.host, g.echo) as s:
        s.sendall(b'before')
        assert traffic.receive(s, 6) == b'before'
        g.hmp('stop')
        s.sendall(b'during')
        time.sleep(5)
        start = time.monotonic()
        g.hmp('cont')
        assert traffic.receive(s, 6) == b'during'
    took = time.monotonic() - start
    assert took < 2, f'the answer took {took:.1f} s'
    assert g.stats()['uptime_ms'] > before
    iperf3_again(g)


@USER
def test_link_flaps_under_traffic(g):
    """The link goes and comes back; a transfer goes on."""
    card = traffic.card_name(g)
    changes = g.stats()['link_changes']
    client = subprocess.Popen(
        traffic.iperf3_command(g.host, g.port, '-t', '3'),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(3):
        time.sleep(0.2)
        g.hmp(f'set_link {card} off')
        time.sleep(0.2)
        g.hmp(f'set_link {card} on')
    out, _ = client.communicate(timeout=20)
    assert client.returncode == 0, out
    count = g.stats()['link_changes'] - changes
    assert 1 <= count <= 6, f'{count} changes'
    traffic.echo_hash(g.host, g.echo, MIB)


@USER
def test_nothing_is_kept(g):
    traffic.works_again(lambda: traffic.check_counters(g), 10)


@USER
def test_power_off(g):
    g.look_for_trouble()
    g.power_off()


if __name__ == '__main__':
    runner.main(globals())

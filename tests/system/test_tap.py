#!/usr/bin/env python3
"""
Traffic over a tap interface, where the device offers checksums and
segmentation, and frames cross no other stack on the way.
"""
import socket
import subprocess
import time

import runner
import tap
import traffic
from runner import on
from traffic import MIB, iperf3, iperf3_tcp

TAP = on(net='tap', tap=tap.NAME, machine='q35')
ECHO, DISCARD, IPERF3 = 7, 9, 5201
SHORT_CONNECTIONS = 200


@TAP
def test_tap_offloads_are_there(g):
    net = g.command('net')
    for text in ('tx-csum', 'rx-csum', 'link up'):
        assert text in net, net


@TAP
def test_tap_ping(g):
    traffic.check_ping(g.host, '-c', '3', '-i', '0.2')
    for size in (0, 1, 1472, 1473, 8000, 65507):
        traffic.check_ping(g.host, '-c', '3', '-i', '0.05', '-s', str(size))


@TAP
def test_tap_ping_flood(g):
    traffic.check_ping(g.host, '-f', '-c', '10000')
    traffic.check_ping(g.host, '-f', '-c', '1000', '-s', '1400', '-l', '32')


@TAP
def test_tap_echo(g):
    traffic.echo_hash(g.host, ECHO)


@TAP
def test_tap_udp_echo(g):
    for size in (1, 100, 1472, 1473, 9000, 60000):
        traffic.udp_echo(g.host, ECHO, size)


@TAP
def test_tap_short_connections(g):
    """Four clients at once, so that some meet."""
    before = g.stats()['echo_accepted']
    traffic.at_once(4, lambda: [traffic.echo_once(g.host, ECHO)
                                for _ in range(SHORT_CONNECTIONS // 4)])
    count = g.stats()['echo_accepted'] - before
    assert count == SHORT_CONNECTIONS, f'{count} accepted'


@TAP
def test_tap_iperf3_forward(g):
    before = g.stats()
    iperf3_tcp(g, '-t', '1')
    # Large frames, as the offloads were accepted.
    assert g.stats()['rx_gso_frames'] > before['rx_gso_frames']


@TAP
def test_tap_iperf3_reverse(g):
    before = g.stats()
    iperf3_tcp(g, '-t', '1', '-R')
    assert g.stats()['tx_csum'] > before['tx_csum']


@TAP
def test_tap_iperf3_parallel(g):
    for args in (('-P', '8'), ('-P', '8', '-R'), ('-P', '16')):
        report = iperf3_tcp(g, '-t', '1', *args)
        for stream in report['end']['streams']:
            assert stream['receiver']['bytes'] > 0, 'a stream got nothing'


@TAP
def test_tap_iperf3_both_ways(g):
    iperf3_tcp(g, '-t', '1', '--bidir')
    iperf3_tcp(g, '-t', '1', '--bidir', '-P', '8')


@TAP
def test_tap_iperf3_small_writes(g):
    iperf3_tcp(g, '-t', '1', '-l', '100', least=1)


@TAP
def test_tap_iperf3_udp(g):
    for args in ((), ('-R',)):
        traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b',
                                 '20M', *args), most_lost=5)
        traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b',
                                 '100M', *args))


@TAP
def test_tap_iperf3_udp_fragments(g):
    traffic.check_udp(iperf3(g.host, g.port, '-t', '1', '-u', '-b', '10M',
                             '-l', '8000'), most_lost=20)


@TAP
def test_tap_ipv6(g):
    host = tap.link_local()
    g.wait_for('en0 address FE80::', 10)
    traffic.check_ping(host, '-c', '3', '-i', '0.2')
    traffic.check_ping(host, '-c', '3', '-i', '0.2', '-s', '8000')
    traffic.echo_hash(host, ECHO)
    traffic.udp_echo(host, ECHO, 1000)
    iperf3_tcp(g, '-t', '1', '-6', host=host)
    iperf3_tcp(g, '-t', '1', '-6', '-R', host=host)


@TAP
def test_tap_discard_flood(g):
    """Datagrams as fast as they go; the guest's other work goes on."""
    before = g.stats()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((g.host, DISCARD))
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            for _ in range(200):
                try:
                    s.send(b'x' * 64)
                except OSError:
                    pass
    # The host's queue to the tap interface must drain first.
    traffic.works_again(lambda: traffic.check_ping(
        g.host, '-c', '3', '-i', '0.1'), 3)
    traffic.echo_hash(g.host, ECHO, MIB)
    count = g.stats()['discard_udp_in'] - before['discard_udp_in']
    assert count > 1000, f'{count} datagrams arrived'


@TAP
def test_tap_link_flaps_under_traffic(g):
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
    traffic.echo_hash(g.host, ECHO, MIB)


@TAP
def test_tap_peer_vanishes(g):
    """Connections whose other end has gone without a word."""
    sockets = [traffic.connect(g.host, ECHO) for _ in range(30)]
    for s in sockets:
        s.sendall(b'x' * 1000)
    tap.ip('address', 'flush', 'dev', tap.NAME)
    for s in sockets:
        s.close()
    tap.ip('address', 'add', tap.HOST_IP + '/24', 'dev', tap.NAME)
    traffic.works_again(lambda: traffic.echo_hash(g.host, ECHO, MIB))


@TAP
def test_tap_nothing_is_kept(g):
    traffic.works_again(lambda: traffic.check_counters(g), 10)


if __name__ == '__main__':
    runner.main(globals(), tap.prepare)

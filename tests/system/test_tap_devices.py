#!/usr/bin/env python3
"""
Variants of the network device over a tap interface, where offloads make
large frames and the MTU of the host's side can be another one.
"""
import runner
import tap
import traffic
from guest import Guest
from test_devices import BARE, accepted
from traffic import MIB, iperf3_tcp

ECHO = 7

VARIANTS = {
    'default': {},
    'pc_legacy_off': dict(machine='pc', device='disable-legacy=on'),
    'no_mrg_rxbuf': dict(device='mrg_rxbuf=off'),
    'rx_small': dict(append='rx-mode=small'),
    'rx_big': dict(append='rx-mode=big'),
    'rx_big_16m': dict(append='rx-mode=big', mem='16M'),
    'rx_page_no_copy': dict(append='rx-buf=page rx-copy=none'),
    'rx_faulty_early': dict(append='rx-buf=mtu-faulty rx-early=on'),
    'no_event_idx': dict(device='event_idx=off'),
    'no_checksums': dict(device='csum=off,guest_csum=off'),
    'no_guest_tso': dict(device='guest_tso4=off,guest_tso6=off'),
    'no_guest_tso_no_gro': dict(device='guest_tso4=off,guest_tso6=off',
                                append='gro=off'),
    'no_host_tso': dict(device='host_tso4=off,host_tso6=off'),
    'no_vectors': dict(device='vectors=0'),
    'bare_minimum': dict(device=BARE),
    'small_rings': dict(append='rx-ring=8 tx-ring=32'),
    'small_pool': dict(mem='16M', append='rx-ring=64 rx-bufs=128'),
    'root_port': dict(device='bus=rp0', extra='-device '
                      'pcie-root-port,id=rp0,chassis=1,slot=1'),
}


def use(g):
    """All kinds of traffic, then nothing is left."""
    traffic.check_ping(g.host, '-c', '5', '-i', '0.02', '-s', '1400')
    traffic.check_ping(g.host, '-c', '5', '-i', '0.02', '-s', '8000')
    traffic.echo_hash(g.host, ECHO, 4 * MIB)
    traffic.udp_echo(g.host, ECHO, 1200)
    iperf3_tcp(g, '-n', '8M')
    iperf3_tcp(g, '-n', '8M', '-R')
    traffic.works_again(lambda: traffic.check_counters(g), 5)


def variant(settings):
    with Guest(net='tap', tap=tap.NAME, **settings) as g:
        use(g)


MORE_TESTS = [
    runner.named(variant, f'test_tap_device_{name}', settings=settings)
    for name, settings in VARIANTS.items()
]


def merged(g, *args, host=None):
    """Segments that a bulk transfer brought, and those joined to others."""
    before = g.stats()
    iperf3_tcp(g, '-n', '16M', *args, host=host)
    after = g.stats()
    assert after['net_gro_csum_bad'] == 0, 'bad checksums'
    return [after[name] - before[name]
            for name in ('net_gro_in', 'net_gro_merged')]


def test_tap_gro():
    """A device that merges nothing: the stack gets few large frames."""
    for device in ('guest_tso4=off,guest_tso6=off',
                   'csum=off,guest_csum=off,mrg_rxbuf=off'):
        with Guest(net='tap', tap=tap.NAME, device=device) as g:
            g.wait_for('en0 address FE80::', 10)
            for args, host in (((), None), (('-6',), tap.link_local())):
                segments, joined = merged(g, *args, host=host)
                assert segments > 16 * MIB // 1460, f'{segments} segments'
                assert joined > segments // 2, \
                    f'{device} {args}: {joined} of {segments} joined'
            traffic.works_again(lambda: traffic.check_counters(g), 5)


def test_tap_gro_off():
    with Guest(net='tap', tap=tap.NAME, append='gro=off',
               device='guest_tso4=off,guest_tso6=off') as g:
        assert merged(g) == [0, 0]


def mtu(size, host):
    """The device's MTU is taken, and the other side may have another."""
    tap.set_mtu(host)
    try:
        with Guest(net='tap', tap=tap.NAME,
                   device=f'host_mtu={size}') as g:
            assert f'mtu {size} ' in g.command('net'), g.log()
            assert 3 in accepted(g), 'MTU not accepted'
            traffic.check_ping(g.host, '-c', '3', '-i', '0.02', '-s',
                               str(min(size, host) - 28), '-M', 'do')
            use(g)
    finally:
        tap.set_mtu(1500)


MORE_TESTS += [
    runner.named(mtu, f'test_tap_mtu_{size}_host_{host}', size=size,
                 host=host)
    for size, host in ((9000, 9000), (9000, 1500), (1500, 9000),
                       (1280, 1500), (1280, 1280), (65535, 65521))
]

if __name__ == '__main__':
    runner.main(globals(), tap.prepare)

#!/usr/bin/env python3
"""
The network device in all its variants: features switched off, other ways to
the doorbell, other places on the bus, other queue sizes and MTUs. Each is
used with random data there and back, and by iperf3.
"""
import re

import runner
import traffic
from guest import Guest
from traffic import MIB, iperf3_tcp

EVENT_IDX, RING_PACKED, ACCESS_PLATFORM = 29, 34, 33
MRG_RXBUF, MTU, CSUM, STATUS = 15, 3, 0, 16

BARE = ('mrg_rxbuf=off,status=off,ctrl_vq=off,event_idx=off,'
        'indirect_desc=off,csum=off,gso=off')
ROOT_PORT = '-device pcie-root-port,id=rp0,chassis=1,slot=1'
FAR_BAR = ('-object memory-backend-ram,id=m0,size=4G,share=on '
           '-device ivshmem-plain,memdev=m0')
BRIDGES_3 = ' '.join(f'-device pci-bridge,id=br{i},chassis_nr={i},bus={bus}'
                     for i, bus in ((1, 'pci.0'), (2, 'br1'), (3, 'br2')))

# Name: settings, feature bits that must be accepted, and bits that must not.
VARIANTS = {
    'default': (dict(), {EVENT_IDX, MRG_RXBUF}, {RING_PACKED}),
    'modern_only': (dict(device='disable-legacy=on'), {EVENT_IDX}, set()),
    'no_mrg_rxbuf': (dict(device='mrg_rxbuf=off'), set(), {MRG_RXBUF}),
    'no_event_idx': (dict(device='event_idx=off'), set(), {EVENT_IDX}),
    'no_indirect': (dict(device='indirect_desc=off'), {EVENT_IDX}, set()),
    'no_checksums': (dict(device='csum=off,guest_csum=off'), set(), {CSUM}),
    'packed_offered': (dict(device='packed=on'), set(), {RING_PACKED}),
    'iommu_platform': (dict(device='disable-legacy=on,iommu_platform=on'),
                       {ACCESS_PLATFORM}, set()),
    'no_vectors': (dict(device='vectors=0'), set(), set()),
    'one_vector': (dict(device='vectors=1'), set(), set()),
    'two_vectors': (dict(device='vectors=2'), set(), set()),
    'rx_queue_1024': (dict(device='rx_queue_size=1024'), set(), set()),
    'mtu_1280': (dict(device='host_mtu=1280'), {MTU}, set()),
    'pio_notify': (dict(device='modern-pio-notify=on'), set(), set()),
    'page_per_vq': (dict(device='page-per-vq=on'), set(), set()),
    'bare_minimum': (dict(device=BARE), set(),
                     {MRG_RXBUF, STATUS, EVENT_IDX, CSUM}),
    'pc': (dict(machine='pc'), set(), set()),
    'root_port': (dict(device='bus=rp0', extra=ROOT_PORT), set(), set()),
    'three_bridges': (dict(machine='pc', device='bus=br3,addr=4',
                           extra=BRIDGES_3), set(), set()),
    'function_3': (dict(device='addr=5.3', extra='-device '
                        'pvpanic-pci,addr=5.0,multifunction=on'), set(),
                   set()),
    'far_bar': (dict(extra=FAR_BAR), set(), set()),
    'small_rings': (dict(append='rx-ring=4 tx-ring=4'), set(), set()),
    'large_rings': (dict(device='rx_queue_size=1024',
                         append='rx-ring=1024 tx-ring=1024'), set(), set()),
    'small_budget': (dict(append='budget=1'), set(), set()),
    'rx_small': (dict(append='rx-mode=small rx-copy=none'), set(),
                 {MRG_RXBUF}),
    'rx_mergeable_64': (dict(append='rx-buf=64'), {MRG_RXBUF}, set()),
    'rx_faulty': (dict(append='rx-buf=mtu-faulty rx-early=on'), {MRG_RXBUF},
                  set()),
}


def accepted(g):
    features = int(re.search(r'features ([0-9a-f]+)', g.command('net'))
                   .group(1), 16)
    return {bit for bit in range(64) if features >> bit & 1}


# What the console, `net` or QEMU's list of devices must show besides.
SHOWN = {
    'modern_only': r'1af4:1041',
    'root_port': r'Bus  1, device   0, function 0:\n.*1af4:1041',
    'three_bridges': r'Bus  3, device   4, function 0:\n.*1af4:1000',
    'function_3': r'device   5, function 3:\n.*1af4:1000',
    'far_bar': r'1af4:1000[^:]*\n(?:.*\n){3,6}.*BAR4: 64 bit prefetchable '
               r'memory at 0x[0-9a-f]{9,}',
    'no_vectors': r'polled',
    'rx_queue_1024': r'rings rx 256 tx 256',
    # How large the transmit ring may be depends on QEMU's version.
    'large_rings': r'rings rx 1024 tx (256|1024)',
    'small_rings': r'rings rx 4 tx 4',
    'mtu_1280': r'mtu 1280',
    'no_mrg_rxbuf': r'receive mode small',
    'rx_small': r'receive mode small',
}


def variant(name, settings, wanted, unwanted):
    with Guest(**settings) as g:
        shown = g.command('net') + g.hmp('info pci')
        pattern = SHOWN.get(name, '')
        assert re.search(pattern, shown), f'no {pattern!r} in\n{shown}'
        bits = accepted(g)
        assert wanted <= bits, f'not accepted: {wanted - bits}\n' + g.log()
        assert not unwanted & bits, f'accepted: {unwanted & bits}'
        traffic.echo_hash(g.host, g.echo, 2 * MIB)
        traffic.udp_echo(g.host, g.echo, 1200)
        iperf3_tcp(g, '-n', '4M')
        iperf3_tcp(g, '-n', '4M', '-R')
        traffic.works_again(lambda: traffic.check_counters(g), 5)


MORE_TESTS = [
    runner.named(variant, f'test_device_{name}', name=name, settings=v[0],
                 wanted=v[1], unwanted=v[2])
    for name, v in VARIANTS.items()
]


def refused(expected, also=None, **settings):
    """One clear line, and the console works."""
    with Guest(**settings) as g:
        found = re.search(expected, g.console.text)
        assert found, f'no {expected!r}\n' + g.log()
        assert 'no network device' in g.command('net')
        if also:
            also(g)
        g.power_off()


def test_device_legacy_only():
    refused(r'VERSION_1|modern|legacy', device='disable-modern=on')


def test_device_given_up():
    """A driver that cannot go on says so to the device, too (2.1.1)."""
    def given_up(g):
        assert 'CONFIG_S_FAILED' in g.device_status(), g.device_status()
    refused(r'VERSION_1 is needed', append='refuse=VERSION_1', check=False,
            also=given_up)


def test_two_devices():
    """The second one has its own interface; the first one works."""
    second = '-netdev user,id=net1 -device virtio-net-pci,netdev=net1,' \
             'romfile=,mac=52:54:00:12:34:99,addr=7'
    with Guest(extra=second, device='addr=3') as g:
        text = g.command('net')
        assert text.count('link up') == 2, text
        g.wait_for('en1 address 10.0.2.15/24', 10)


if __name__ == '__main__':
    runner.main(globals())

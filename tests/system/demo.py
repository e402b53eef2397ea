#!/usr/bin/env python3
"""
A demonstration: boots the kernel in QEMU, lets the host's own iperf3 client
talk to it, prints the rates and the guest's counters, switches it off.
"""
import os
import re
import shutil
import subprocess
import sys

import traffic
from guest import QEMU_SH, Guest, GuestError

RUNS = (
    ('TCP, host to guest', ('-t', '2')),
    ('TCP, guest to host', ('-t', '2', '-R')),
    ('UDP, host to guest, 100 Mbit/s', ('-t', '1', '-u', '-b', '100M')),
    ('UDP, guest to host, 100 Mbit/s', ('-t', '1', '-u', '-b', '100M', '-R')),
)
COUNTERS = (
    ('rx_frames', 'frames received'),
    ('rx_bytes', 'bytes received'),
    ('tx_frames', 'frames sent'),
    ('tx_bytes', 'bytes sent'),
    ('rx_notify', 'doorbells for new receive buffers'),
    ('tx_notify', 'doorbells for frames to send'),
    ('interrupts', 'interrupts, all devices and the timer'),
    ('rx_bufs_held', 'receive buffers still in use'),
    ('net_tcp_drop', 'TCP segments the stack dropped'),
    ('ring_broken', 'rings found broken'),
    ('busy', 'percent of the time busy'),
)


def say(text=''):
    print(text, flush=True)


def boot_lines(guest):
    for line in guest.console.text.splitlines():
        if line.startswith('['):
            say('  ' + line)


def run(guest, name, args):
    """One line of the table."""
    report = traffic.iperf3(guest.host, guest.port, *args)
    end = report['end']
    if '-u' in args:
        total = traffic.check_udp(report)['end']['sum']
        arrived = total['bits_per_second'] * \
            (1 - total['lost_packets'] / total['packets'])
        note = f'{total["lost_percent"]:.1f} % lost, ' \
               f'jitter {total["jitter_ms"]:.2f} ms'
    else:
        assert end['sum_received']['bytes'] > 0, 'no bytes arrived'
        arrived = end['sum_received']['bits_per_second']
        note = f'{end["sum_received"]["bytes"] / 1e6:.0f} MB'
    say(f'  {name:32} {arrived / 1e6:9.1f} Mbit/s   {note}')


def accelerator():
    """What QEMU will run on, as boot/qemu.sh chooses it."""
    line = subprocess.run([QEMU_SH, '--print'], env=dict(
        os.environ, NET='none'), stdout=subprocess.PIPE, text=True,
        check=True).stdout
    return re.search(r'-accel (\w+)', line).group(1)


def demo(guest):
    boot_lines(guest)
    say()
    say(f"The guest's iperf3 server is at port {guest.port} of this host. "
        f'Running iperf3 against it ({accelerator()}):')
    for name, args in RUNS:
        run(guest, name, args)
    say()
    say("The guest's own counters (its command 'stats'):")
    stats = guest.stats()
    for name, meaning in COUNTERS:
        say(f'  {name:14} {stats[name]:>14,}  {meaning}')
    guest.look_for_trouble()
    say()
    guest.power_off()
    say('Switched off. To try it yourself: make run')


def main():
    if not shutil.which('iperf3'):
        sys.exit('demo: iperf3 is not installed')
    guest = Guest()
    say('Booting the kernel in QEMU with user-mode networking:')
    try:
        with guest:
            demo(guest)
    except (GuestError, AssertionError, KeyError, OSError) as e:
        say()
        say(f'demo: failed: {e}')
        if not isinstance(e, GuestError) and hasattr(guest, 'console'):
            say(guest.log(200))
        sys.exit(1)


if __name__ == '__main__':
    main()

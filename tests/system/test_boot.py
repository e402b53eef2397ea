#!/usr/bin/env python3
"""
Booting: machines, processors, memory, ways in, command lines; and ending:
power off, crashes, no network device. Every boot that should work is used,
by an echo of random data.
"""
import os
import re
import shutil
import subprocess
import tempfile

import runner
import traffic
from guest import EXIT_FAILED, ROOT, Guest

KIB = 1024
ISO = os.path.join(ROOT, 'build', 'vireo.iso')
KERNEL = os.path.join(ROOT, 'build', 'vireo.elf')
# As much memory as the page allocator may lack: image, tables, firmware.
OVERHEAD = 4 * 1024 * KIB


def boots_and_echoes(**settings):
    with Guest(**settings) as g:
        traffic.echo_hash(g.host, g.echo, 256 * KIB)
        text = g.console.text
        g.look_for_trouble()
        g.power_off()
    return text


def test_machine_pc():
    boots_and_echoes(machine='pc')


def test_machine_q35():
    boots_and_echoes(machine='q35')


def test_cpu_max():
    boots_and_echoes(cpu='max')


def memory(size, machine):
    """Nearly all of it is found and free."""
    number, unit = int(size[:-1]), size[-1]
    total = number << {'M': 20, 'G': 30}[unit]
    with Guest(mem=size, machine=machine) as g:
        found = re.search(r'memory: (\d+) KiB free', g.console.text)
        assert found, 'no line on memory\n' + g.log()
        free = int(found.group(1)) * KIB
        # The page tables and the record of the pages grow with it.
        least = total - OVERHEAD - total // 1000
        assert least <= free <= total, f'{free} bytes free of {total}'
        traffic.echo_hash(g.host, g.echo, 256 * KIB)
        g.command('mem')


MORE_TESTS = [
    runner.named(memory, f'test_memory_{size}_{machine}', size=size,
                 machine=machine)
    for size, machine in (('16M', 'pc'), ('64M', 'q35'), ('3G', 'pc'),
                          ('3G', 'q35'), ('5G', 'pc'), ('5G', 'q35'))
]


def test_boot_elf32():
    text = boots_and_echoes(boot='elf32')
    assert 'boot: multiboot 1,' in text, text


def test_boot_pvh():
    text = boots_and_echoes(boot='pvh', append='log=debug')
    assert 'boot: PVH,' in text, text
    assert 'log=debug' in text, text


def make_iso(folder, options):
    """An image like that of `make iso`, with kernel options in its menu."""
    if not shutil.which('grub-mkrescue') or not shutil.which('xorriso'):
        raise runner.Skip('grub-mkrescue or xorriso is not installed')
    grub = os.path.join(folder, 'root', 'boot', 'grub')
    os.makedirs(grub)
    kernel = os.path.join(folder, 'root', 'boot', 'vireo.elf')
    subprocess.run(['strip', '--strip-debug', '-o', kernel, KERNEL],
                   check=True)
    with open(os.path.join(ROOT, 'boot', 'grub.cfg'),
              encoding='ascii') as f:
        menu = f.read()
    line = 'multiboot2 /boot/vireo.elf'
    assert line in menu, 'boot/grub.cfg starts something else'
    with open(os.path.join(grub, 'grub.cfg'), 'w', encoding='ascii') as f:
        f.write(menu.replace(line, f'{line} {options}'))
    image = os.path.join(folder, 'test.iso')
    done = subprocess.run(
        ['grub-mkrescue', '-o', image, os.path.join(folder, 'root')],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if done.returncode != 0:
        raise runner.Skip('grub-mkrescue: ' + done.stdout[-300:])
    return image


def test_boot_iso_and_its_options():
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        image = make_iso(folder, 'ip=10.0.2.15/24 gw=10.0.2.2 log=debug '
                         'refuse=EVENT_IDX rx-ring=64')
        with Guest(boot='iso', image=image, seconds=60) as g:
            text = g.console.text
            assert 'boot: multiboot 2,' in text, text
            assert re.search(r'pci \S+: 1af4:1000', text), 'not log=debug'
            net = g.command('net')
            assert 'rings rx 64 ' in net, net
            features = int(re.search(r'features ([0-9a-f]+)', net).group(1),
                           16)
            assert not features >> 29 & 1, 'EVENT_IDX was not refused'
            traffic.echo_hash(g.host, g.echo, 256 * KIB)
            g.power_off()


def test_dhcp():
    with Guest(append='ip=dhcp') as g:
        g.wait_for('en0 address 10.0.2.15/24 gw 10.0.2.2', 15)
        traffic.echo_hash(g.host, g.echo, 256 * KIB)


def test_unknown_settings_are_reported():
    with Guest(append='quite wrong=1 budget=none ip=1.2.3 log=info') as g:
        for text in ("unknown setting 'quite'", "unknown setting 'wrong=1'",
                     "value not usable: 'budget=none'",
                     "value not usable: 'ip=1.2.3'"):
            g.wait_for(text, 1)
        g.power_off()


def test_long_command_line():
    words = ' '.join(f'unknown{i}=x' for i in range(500))
    long_word = 'refuse=' + 'x' * 5000
    for append in (long_word, words):
        with Guest(append=f'ip=10.0.2.15/24 {append}') as g:
            traffic.echo_once(g.host, g.echo)
            g.power_off()


def test_no_network_device():
    with Guest(net='none') as g:
        g.wait_for('no usable virtio network device; network functions on '
                   'the bus: none', 1)
        assert 'no network device' in g.command('net')
        g.power_off()


def test_other_network_device():
    with Guest(nic='e1000') as g:
        found = re.search(r'no usable virtio network device; network '
                          r'functions on the bus: \S+ 8086:100e',
                          g.console.text)
        assert found, g.log()
        g.power_off()


def test_reboot_ends_qemu():
    with Guest() as g:
        g.type('reboot')
        assert g.exit_status() == 0, g.log()


def crash(g, kind, *expected):
    """Ends with the failing status, and the report says all that."""
    start = g.mark()
    g.type('crash ' + kind)
    status = g.exit_status()
    g.console.wait(lambda _: None, 2)
    report = g.console.text[start:]
    assert status == EXIT_FAILED, f'status {status}\n' + g.log()
    for text in expected:
        assert re.search(text, report), f'no {text!r}\n' + g.log()


# Functions that nothing can have inlined away, and the names between.
FRAME = r'#\d+ +[0-9a-f]{16} [\w.]+\+0x[0-9a-f]+\n'
BACKTRACE = (r'backtrace:\n( *' + FRAME + '){4,}', r'\bcmd_crash\+0x',
             r'\bkmain\+0x')


def test_crash_page_fault():
    with Guest(check=False) as g:
        crash(g, 'pf', r'EXCEPTION 14: page fault',
              r'write of 00007ffffffff000, which is not mapped',
              r'rip [0-9a-f]{16} rsp [0-9a-f]{16}', r'cr2 00007ffffffff000',
              *BACKTRACE)


CRASHES = {
    'null': r'EXCEPTION 14: .*\n.*a null pointer',
    'ud': r'EXCEPTION 6: invalid opcode',
    'de': r'EXCEPTION 0: divide error',
    'gp': r'EXCEPTION 1[23]: ',
    'int3': r'EXCEPTION 3: breakpoint',
    'fpu': r'EXCEPTION 7: device not available',
    'sse': r'EXCEPTION [67]: ',
    'stack': r'the stack has overflowed',
    'nx': r'EXCEPTION 14: .*\nexecution of .* does not permit it',
    'wx': r'EXCEPTION 14: .*\nwrite of .* does not permit it',
    'ro': r'EXCEPTION 14: .*\nwrite of .* does not permit it',
    'panic': r'PANIC: asked for on the console',
}


def crash_kind(kind, expected):
    with Guest(check=False, net='none') as g:
        crash(g, kind, expected, FRAME)


MORE_TESTS += [
    runner.named(crash_kind, f'test_crash_{kind}', kind=kind,
                 expected=expected)
    for kind, expected in CRASHES.items()
]

if __name__ == '__main__':
    runner.main(globals())

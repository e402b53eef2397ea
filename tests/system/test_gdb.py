#!/usr/bin/env python3
"""
The debugger: stock gdb with boot/gdb/vireo.gdb follows the kernel from its
first C function, stops it in the driver, and leaves it working.
"""
import os
import re
import shutil
import subprocess
import tempfile

import runner
import traffic
from guest import ROOT, Guest
from test_boot import make_iso
from traffic import MIB

SCRIPT = os.path.join(ROOT, 'boot', 'gdb', 'vireo.gdb')
KERNEL = os.path.join(ROOT, 'build', 'vireo.elf')
FRAME = r'#\d+ .*\b'

# What is typed behind the script, and what must be seen, in this order.
SESSION = (
    ('backtrace', FRAME + r'kmain \('),
    ('break vnet_poll', r'Breakpoint 2 at .*vnet_poll|Breakpoint 2 at '),
    ('continue', r'Breakpoint 2, vnet_poll \('),
    ('backtrace', FRAME + r'vnet_poll \((.*\n)*.*' + FRAME + r'kmain \('),
    ('print v->info.name', r'= 0x[0-9a-f]+ .*pci 00:'),
    ('print nic_count', r'= 1'),
    ('delete breakpoints', ''),
    ('watch idle_stats.halts', r'atchpoint \d+: idle_stats.halts'),
    ('continue', r'Old value = 0\nNew value = 1'),
    ('detach', r'detached\]'),
)


def gdb(remote, session, seconds=60):
    """Runs a session; returns what gdb printed."""
    if not shutil.which('gdb'):
        raise runner.Skip('gdb is not installed')
    command = ['gdb', '-nx', '-q', '-batch', KERNEL,
               '-ex', 'target remote ' + remote, '-x', SCRIPT]
    for line, _ in session:
        command += ['-ex', line]
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=seconds, text=True, check=False)
    return done.stdout


def check_session(text, session):
    at = 0
    for line, expected in session:
        found = re.compile(expected).search(text, at)
        assert found, f'{line}: no {expected!r} in\n{text}'
        at = found.end()


def debugged(boot):
    """The kernel goes on as if nothing had been."""
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        stub = os.path.join(folder, 'gdb')
        settings = dict(boot=boot, gdb=f'unix:{stub},server=on,wait=off')
        if boot == 'iso':
            settings['image'] = make_iso(folder, 'ip=10.0.2.15/24')
        with Guest(wait=False, **settings) as g:
            g.hmp('info status')  # the sockets are there now
            check_session(gdb(stub, SESSION), SESSION)
            assert g.boots(), g.log()
            traffic.echo_hash(g.host, g.echo, MIB)
            g.power_off()


MORE_TESTS = [runner.named(debugged, f'test_gdb_{boot}', boot=boot)
              for boot in ('elf32', 'pvh', 'iso')]

if __name__ == '__main__':
    runner.main(globals())

#!/usr/bin/env python3
"""
What a newcomer types: the scripts behind `make demo`, `make run`,
`make run NET=tap` and `make debug`, and the commands that they print.
"""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import runner
from guest import QEMU_SH, ROOT, Guest, Text

BOOT = os.path.join(ROOT, 'boot')
RATE = re.compile(r'^  (?:TCP|UDP), .* ([\d.]+) Mbit/s', re.M)


class Script:
    """A script with its standard streams; ends with the with statement."""

    def __init__(self, name):
        self.process = subprocess.Popen(
            [os.path.join(BOOT, name)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.out = Text(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()

    def wait_for(self, pattern, seconds=20):
        found = self.out.wait(lambda t: re.search(pattern, t), seconds)
        assert found, f'no {pattern!r} in\n{self.out.text}'
        return found

    def type(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()


def run(command, seconds=30, **settings):
    """A command's status and output."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=seconds, text=True, check=False, cwd=ROOT,
                          env=dict(os.environ, **settings))
    return done.returncode, done.stdout


def test_demo():
    start = time.monotonic()
    status, text = run([sys.executable,
                        os.path.join(ROOT, 'tests', 'system', 'demo.py')])
    assert status == 0, text
    rates = [float(r) for r in RATE.findall(text)]
    assert len(rates) == 4 and min(rates) > 0, text
    took = time.monotonic() - start
    assert took < 25, f'it took {took:.1f} s'  # 7 s, when nothing else runs


def test_demo_fails_when_the_kernel_does_not_boot():
    status, text = run([sys.executable, os.path.join(
        ROOT, 'tests', 'system', 'demo.py')], IMAGE='/dev/null')
    assert status == 1 and 'failed' in text, f'{status}\n{text}'


def test_run():
    """What it says to try works; poweroff on its console ends it."""
    if not shutil.which('iperf3'):
        raise runner.Skip('iperf3 is not installed')
    with Script('run.sh') as script:
        command = script.wait_for(r'(iperf3 -c .* -p \d+)\n').group(1)
        script.wait_for(r'ready; the console takes commands')
        status, text = run(shlex.split(command) + ['-t', '1'])
        assert status == 0, text
        script.type('poweroff')
        assert script.process.wait(10) == 0, script.out.text


def test_run_tap():
    runner.namespace_command()
    command = 'iperf3 -c 10.0.2.15 -t 1 && ping -c 1 10.0.2.15'
    with tempfile.NamedTemporaryFile(prefix='vireo-') as log:
        for cmd, expected in ((command, 0), ('exit 7', 7)):
            status, text = run([os.path.join(BOOT, 'tap.sh')], CMD=cmd,
                               LOG=log.name)
            assert status == expected, f'{status}\n{text}'


def test_debug():
    """The line that it prints reaches kmain."""
    if not shutil.which('gdb'):
        raise runner.Skip('gdb is not installed')
    with Script('debug.sh') as script:
        line = script.wait_for(r'\n +(gdb .*)\n').group(1)
        time.sleep(0.5)
        status, text = run(shlex.split(line) +
                           ['-batch', '-ex', 'backtrace', '-ex', 'detach'])
        assert re.search(r'#0 +kmain \(', text), f'{status}\n{text}'
        script.wait_for(r'ready; the console takes commands')


def test_qemu_sh_says_what_is_wrong():
    for settings, expected in ((dict(BOOT='floppy'), 'floppy'),
                               (dict(NET='wire'), 'wire'),
                               (dict(IMAGE='/nowhere'), '/nowhere'),
                               (dict(NET='tap', TAP=''), 'TAP')):
        status, text = run([QEMU_SH], **settings)
        assert status == 2 and expected in text, f'{status}\n{text}'


def test_a_guest_is_not_left_behind():
    """QEMU ends when the program that started it is killed."""
    code = 'import guest, time\n' \
           'g = guest.Guest()\n' \
           'g.__enter__()\n' \
           'print(g.pid, flush=True)\n' \
           'time.sleep(60)\n'
    with tempfile.TemporaryDirectory(prefix='vireo-') as folder:
        child = subprocess.Popen(
            [sys.executable, '-c', code], stdout=subprocess.PIPE,
            cwd=os.path.dirname(os.path.abspath(__file__)),
            env=dict(os.environ, TMPDIR=folder))
        pid = int(child.stdout.readline())
        child.kill()
        child.wait()
        child.stdout.close()
        deadline = time.monotonic() + 5
        while os.path.exists(f'/proc/{pid}') and not zombie(pid):
            assert time.monotonic() < deadline, f'process {pid} goes on'
            time.sleep(0.05)


def zombie(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as f:
            return f.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def test_console_takes_anything():
    """Long lines, control characters, bytes that are no text."""
    with Guest() as g:
        for text in (b'x' * 5000, bytes(range(256)), b'\x7f\x08\x15\x03',
                     b'stats ' * 40, b'crash nothing', b'log', b'\xff\xfe'):
            g.write(text + b'\r')
        g.wait_for("unknown command 'xxxx", 10)
        g.wait_for('levels: err', 10)
        g.type('mem')
        g.wait_for('requests refused', 10)
        g.power_off()


if __name__ == '__main__':
    runner.main(globals())

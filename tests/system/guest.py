"""
A guest: the real kernel image in QEMU, with its console and QEMU's monitor.

Owns the QEMU process it starts, always ends it, and looks afterwards at what
tells of trouble: QEMU's own complaints, devices marked broken, a panic.
boot/qemu.sh builds the command line; the settings here are its variables.
"""
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
QEMU_SH = os.path.join(ROOT, 'boot', 'qemu.sh')
GUEST_IP = '10.0.2.15'
COUNTER = re.compile(r'  (\S+)\s+([\d.]+)(?=$|  )')
READY = 'ready; the console takes commands'
EXIT_FAILED = 3  # QEMU's status after the kernel's failing end

# What QEMU prints about a driver that breaks the rules.
COMPLAINTS = (
    'zero sized buffers are not allowed',
    'bogus descriptor or out of resources',
    'invalid address for buffers',
    'Looped descriptor',
    'Desc next is',
    'Incorrect order for descriptors',
    'Guest moved used index',
    'Guest says index',
    'Virtqueue size exceeded',
    'Invalid queue index',
    'Cannot map descriptor ring',
    'virtio-net header not in first element',
    'virtio-net header incorrect',
    'virtio-net receive queue contains no in buffers',
    'virtio-net unexpected empty queue',
    'virtio-net unexpected long buffer chain',
    'virtio-net ctrl missing headers',
    'Invalid size for indirect buffer table',
)
# Any other message on the device that is not a mere warning counts as well.
VIRTIO_MESSAGE = re.compile(r'^(?!.*\bwarning\b).*\bvirtio', re.I | re.M)
# What the kernel prints when it, or a ring, is beyond repair.
CRIES = ('PANIC:', 'EXCEPTION ', 'rebuilding the device')


class GuestError(Exception):
    """The guest, or QEMU, did not do what was asked."""


def _free(kind, port):
    """A socket bound to the port, or None when it is taken."""
    s = socket.socket(socket.AF_INET, kind)
    try:
        s.bind(('127.0.0.1', port))
        return s
    except OSError:
        s.close()
        return None


def free_ports(count):
    """Ports of 127.0.0.1 that are free for TCP and UDP at this moment."""
    held, ports = [], []
    while len(ports) < count:
        tcp = _free(socket.SOCK_STREAM, 0)
        udp = _free(socket.SOCK_DGRAM, tcp.getsockname()[1])
        held.append(tcp)
        if udp:
            held.append(udp)
            ports.append(tcp.getsockname()[1])
    for s in held:
        s.close()
    return ports


def _die_with_parent():
    """Runs in the child: QEMU must not outlive a test that was killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Text:
    """Text that a thread reads from a pipe, for others to wait for."""

    def __init__(self, pipe):
        self.text = ''
        self.ended = False
        self._news = threading.Condition()
        self._pipe = pipe
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            data = os.read(self._pipe.fileno(), 65536)
            with self._news:
                self.text += data.decode('utf-8', 'replace').replace('\r', '')
                self.ended = not data
                self._news.notify_all()
            if not data:
                return

    def wait(self, found, seconds):
        """found(text) as soon as it is not None; None after that time or at
        the end of the text."""
        deadline = time.monotonic() + seconds
        with self._news:
            while True:
                result = found(self.text)
                left = deadline - time.monotonic()
                if result is not None or self.ended or left <= 0:
                    return result
                self._news.wait(left)


class Monitor:
    """QEMU's human monitor behind a unix socket."""
    PROMPT = '(qemu) '

    def __init__(self, path, seconds=10):
        deadline = time.monotonic() + seconds
        while True:
            self._sock = socket.socket(socket.AF_UNIX)
            try:
                self._sock.connect(path)
                break
            except OSError as e:
                self._sock.close()
                if time.monotonic() > deadline:
                    raise GuestError(f'no monitor: {e}') from e
                time.sleep(0.02)
        self._sock.settimeout(seconds)
        self._until_prompt()

    def _until_prompt(self):
        text = ''
        while not text.endswith(self.PROMPT):
            try:
                data = self._sock.recv(65536)
            except OSError as e:
                raise GuestError(f'monitor: {e}') from e
            if not data:
                raise GuestError('the monitor has gone')
            text += data.decode('utf-8', 'replace').replace('\r', '')
            text = re.sub(r'\x1b\[[0-9;]*[A-Za-z]', '', text)
        return text[:-len(self.PROMPT)]

    def command(self, line):
        try:
            self._sock.sendall(line.encode() + b'\n')
            return self._until_prompt().partition('\n')[2]
        except OSError as e:
            raise GuestError(f'monitor, {line!r}: {e}') from e

    def close(self):
        self._sock.close()


class Guest:
    """A booted guest; use it in a with statement.

    Keyword arguments are the variables of boot/qemu.sh in lower case. With
    NET=user, free ports are chosen: self.port (iperf3), self.echo,
    self.discard, self.chargen; self.host is where to connect to.
    """

    def __init__(self, *, wait=True, check=True, seconds=20, **settings):
        self.settings = {k.upper(): str(v) for k, v in settings.items()}
        self.wait_ready = wait
        self.check = check      # look for trouble at the end
        self.seconds = seconds  # patience with a boot
        self.host, self.port = GUEST_IP, 5201
        self._dir = None
        self._process = None
        self._monitor = None
        self._ended = False     # as was expected

    # ---- life ----------------------------------------------------------

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, _value, _trace):
        try:
            if kind is None and self.check and not self._ended:
                self.look_for_trouble()
        finally:
            self.close()
        if kind is None and self.check:
            self._look_at_texts()

    def _start(self):
        for attempt in (1, 2, 3):
            self._launch()
            if not self.wait_ready or self.boots():
                return
            # Somebody else may have taken a port since it was found free.
            if 'host forwarding' not in self.stderr.text or attempt == 3:
                raise GuestError('did not boot\n' + self.log())
            self.close()

    def _launch(self):
        env = dict(os.environ)
        self._dir = tempfile.mkdtemp(prefix='vireo-')
        env['HMP'] = os.path.join(self._dir, 'hmp')
        env['SERIAL'] = 'stdio'
        if self.settings.get('NET', 'user') == 'user':
            self._choose_ports(env)
        env.update(self.settings)
        self._process = subprocess.Popen(
            [QEMU_SH], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=_die_with_parent,
            start_new_session=True)
        self.console = Text(self._process.stdout)
        self.stderr = Text(self._process.stderr)

    def _choose_ports(self, env):
        self.host = '127.0.0.1'
        self.port, self.echo, self.discard, self.chargen = free_ports(4)
        env['PORT'] = str(self.port)
        env['PORT_ECHO'] = str(self.echo)
        env['PORT_DISCARD'] = str(self.discard)
        env['PORT_CHARGEN'] = str(self.chargen)

    def close(self):
        """Ends QEMU if it still runs. Harmless when repeated."""
        if self._monitor:
            self._monitor.close()
            self._monitor = None
        if self._process:
            if self.running():
                self._process.kill()
            self._process.wait()
            self.stderr.wait(lambda _: None, 2)
            self.console.wait(lambda _: None, 2)
            self._process.stdin.close()
        if self._dir:
            shutil.rmtree(self._dir, ignore_errors=True)
            self._dir = None

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process is not None and self._process.poll() is None

    def exit_status(self, seconds=10):
        """Waits for QEMU to end by itself."""
        self._ended = True
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired as e:
            raise GuestError('still running\n' + self.log()) from e

    # ---- console -------------------------------------------------------

    def boots(self):
        return self.console.wait(
            lambda t: True if READY in t and t.endswith('> ') else None,
            self.seconds) is not None

    def log(self, lines=60):
        """The end of the console's text without tables of counters, and
        QEMU's messages."""
        tail = [line for line in self.console.text.splitlines()
                if not COUNTER.match(line)][-lines:]
        return '\n'.join(['--- console:'] + tail + ['--- qemu:'] +
                         self.stderr.text.splitlines()[-20:] + ['---'])

    def wait_for(self, text, seconds=10, start=0):
        """Waits until the console has shown the text; returns the place
        behind it."""
        def find(all_text):
            at = all_text.find(text, start)
            return None if at < 0 else at + len(text)
        at = self.console.wait(find, seconds)
        if at is None:
            raise GuestError(f'no {text!r} on the console within '
                             f'{seconds} s\n' + self.log())
        return at

    def mark(self):
        """The present end of the console's text, as start for wait_for."""
        return len(self.console.text)

    def write(self, data):
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def type(self, line):
        self.write(line.encode() + b'\r')

    def command(self, line, seconds=10):
        """Runs a command of the guest; returns what it printed."""
        start = self.mark()
        self.type(line)
        # The echo may be torn apart by messages; only a prompt ends it.
        end = self.wait_for('\n> ', seconds, start)
        return self.console.text[start:end - 2].partition('\n')[2]

    def stats(self):
        """The guest's counters, by name; sections are joined by name."""
        counters = {}
        for line in self.command('stats all').splitlines():
            found = COUNTER.match(line)
            if found:
                value = found.group(2)
                counters[found.group(1)] = (float(value) if '.' in value
                                            else int(value))
        return counters

    def power_off(self):
        if self.check:
            self.look_for_trouble()
        self.type('poweroff')
        status = self.exit_status()
        if status != 0:
            raise GuestError(f'status {status} after poweroff\n' + self.log())

    # ---- monitor -------------------------------------------------------

    def hmp(self, line):
        if not self._monitor:
            self._monitor = Monitor(os.path.join(self._dir, 'hmp'))
        return self._monitor.command(line)

    def device_status(self):
        """What QEMU knows of each virtio device, as one text."""
        paths = re.findall(r'^\s*\d+\)\s+(\S+)|^(/\S+)',
                           self.hmp('info virtio'), re.M)
        return '\n'.join(self.hmp('info virtio-status ' + (a or b))
                         for a, b in paths)

    # ---- trouble -------------------------------------------------------

    def look_for_trouble(self):
        """Raises when QEMU has gone, or holds a device for broken."""
        if not self.running():
            raise GuestError('QEMU has ended by itself\n' + self.log())
        text = self.device_status()
        for line in text.splitlines():
            if re.search(r'\bbroken:\s+true', line) or \
                    re.search(r'NEEDS_RESET|FAILED', line):
                raise GuestError(f'device: {line.strip()}\n' + self.log())

    def _look_at_texts(self):
        if VIRTIO_MESSAGE.search(self.stderr.text) or \
                any(text in self.stderr.text for text in COMPLAINTS):
            raise GuestError('QEMU complains\n' + self.log())
        for text in CRIES:
            if text in self.console.text:
                raise GuestError('the guest is in trouble\n' + self.log())

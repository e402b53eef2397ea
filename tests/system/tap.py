"""
A tap interface between this program and its guests. Only inside a network
namespace of our own (runner.in_namespace), where we may and where it
disturbs nobody.
"""
import shutil
import subprocess

import runner

NAME = 'tap0'
HOST_IP = '10.0.2.2'


def ip(*args):
    done = subprocess.run(['ip', *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise runner.Skip(f'ip {" ".join(args)}: {done.stdout.strip()}')


def make():
    """The interface; skips when even that is not allowed in a namespace."""
    ip('link', 'set', 'lo', 'up')
    ip('tuntap', 'add', 'dev', NAME, 'mode', 'tap')
    ip('address', 'add', HOST_IP + '/24', 'dev', NAME)
    ip('link', 'set', NAME, 'up')


def prepare():
    """For runner.main: a namespace, and the interface in it."""
    if not shutil.which('ip'):
        raise runner.Skip('iproute2 is not installed')
    runner.in_namespace()
    make()


def set_mtu(mtu):
    ip('link', 'set', NAME, 'mtu', str(mtu))


def link_local(mac='52:54:00:12:34:56'):
    """The guest's IPv6 address, from its MAC address (RFC 4291, app. A)."""
    b = [int(x, 16) for x in mac.split(':')]
    b[0] ^= 2
    b[3:3] = [0xff, 0xfe]
    words = (f'{b[i] << 8 | b[i + 1]:x}' for i in range(0, 8, 2))
    return 'fe80::' + ':'.join(words) + '%' + NAME

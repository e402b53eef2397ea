"""
Runs the functions test_* of a module, in the order in which they stand, and
prints a line for each and a sum at the end.

A test that takes a guest names its settings with @on(...); tests of the same
settings share one guest, which is looked at for trouble after the last of
them. A guest that failed a test is replaced by a fresh one.
"""
import itertools
import os
import subprocess
import sys
import time
import traceback

from guest import Guest, GuestError

INSIDE = 'VIREO_TEST_NAMESPACE'


class Skip(Exception):
    """The test cannot be run here; says why."""


def on(**settings):
    """The test is given a guest with these settings."""
    def mark(function):
        function.settings = settings
        return function
    return mark


def named(function, test_name, **values):
    """The same test for other values, under a name of its own."""
    def test(*args):
        return function(*args, **values)
    test.__name__ = test_name
    test.settings = getattr(function, 'settings', None)
    return test


class Runner:
    """Counts and reports."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, function, *args):
        """True unless it failed."""
        start = time.monotonic()
        try:
            function(*args)
        except Skip as e:
            self.skipped += 1
            print(f'skip {name}: {e}', flush=True)
        except Exception as e:
            self.failed += 1
            print(f'FAIL {name}: {e or type(e).__name__}', flush=True)
            if not isinstance(e, (GuestError, AssertionError)):
                traceback.print_exc()
            return False
        else:
            self.passed += 1
            seconds = time.monotonic() - start
            print(f'ok {name} ({seconds:.1f} s)', flush=True)
        return True

    def run_shared(self, settings, tests):
        """Tests that share a guest; the last line is the guest's own."""
        guest = None
        try:
            for test in tests:
                if guest is None:
                    guest = Guest(**settings)
                    guest.__enter__()
                if not self.run(test.__name__, test, guest):
                    print(guest.log(), flush=True)
                    guest.close()
                    guest = None
        except GuestError as e:
            self.failed += 1
            print(f'FAIL {test.__name__}: {e}', flush=True)
        except BaseException:
            if guest:
                guest.close()
            raise
        if guest:
            name = tests[-1].__name__ + '_and_no_trouble'
            self.run(name, guest.__exit__, None, None, None)

    def summary(self):
        line = f'{self.passed} passed, {self.failed} failed'
        if self.skipped:
            line += f', {self.skipped} skipped'
        print(line, flush=True)
        return 1 if self.failed else 0


def namespace_command():
    """What makes us root of a network namespace of our own. Raises Skip when
    that is not allowed, or of no use."""
    ways = [['unshare', '--user', '--map-root-user', '--net']]
    if os.getuid() == 0:
        # In a chroot there is no user namespace to be had; root needs none.
        ways.append(['unshare', '--net'])
    why = '/dev/net/tun cannot be opened'
    for way in ways:
        try:
            probe = subprocess.run(way + ['test', '-w', '/dev/net/tun'],
                                   stderr=subprocess.PIPE, text=True,
                                   check=False)
        except OSError as e:
            raise Skip(f'no unshare: {e}') from e
        if probe.returncode == 0:
            return way
        why = probe.stderr.strip() or why
    raise Skip(f'no tap interface in a namespace of our own: {why}')


def in_namespace():
    """Runs this program again in such a namespace, and ends with its status;
    returns when we are in it already."""
    if os.environ.get(INSIDE):
        return
    unshare = namespace_command()
    os.environ[INSIDE] = '1'
    os.execvp('unshare', unshare + [sys.executable] + sys.argv)


def find_tests(module, wanted):
    tests = [v for k, v in module.items()
             if k.startswith('test_') and callable(v)]
    tests += module.get('MORE_TESTS', [])
    if wanted:
        tests = [t for t in tests
                 if any(word in t.__name__ for word in wanted)]
    return tests


def main(module, prepare=None):
    """Ends the program. Arguments are parts of the names of tests to run.
    prepare() is called first; when it raises Skip, all are skipped."""
    runner = Runner()
    tests = find_tests(module, sys.argv[1:])
    try:
        if prepare:
            prepare()
    except Skip as e:
        for test in tests:
            print(f'skip {test.__name__}: {e}')
        runner.skipped = len(tests)
        tests = []
    for settings, group in itertools.groupby(
            tests, lambda t: getattr(t, 'settings', None)):
        group = list(group)
        if settings is None:
            for test in group:
                runner.run(test.__name__, test)
        else:
            runner.run_shared(settings, group)
    sys.exit(runner.summary())

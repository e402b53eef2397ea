#!/usr/bin/env python3
"""Checks the models of this folder with spin, every state that they can reach.

    tests/proof/prove.py [-v]

The protocol as it is must hold. With one mistake built in it must not: a
model that cannot fail says nothing. `-v` shows what each search came to.
Without spin or a compiler everything is skipped. The last line is the sum.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, 'arm.pml')
SECONDS = 60  # for one search
CC = os.environ.get('CC', 'gcc').split()

ASLEEP = 'invalid end state'   # work is there, and nobody will come
ROUND = 'non-progress cycle'   # and this is going round in circles

# name, defines, what is searched for, is it to be found?
CASES = [
    ('event_index_never_misses', '', ASLEEP, False),
    ('flag_never_misses', 'FLAG', ASLEEP, False),
    ('moderated_never_misses', 'MODERATED', ASLEEP, False),
    ('event_index_comes_to_rest', '', ROUND, False),
    ('flag_comes_to_rest', 'FLAG', ROUND, False),
    ('moderated_comes_to_rest', 'MODERATED', ROUND, False),
    ('finds_no_second_look', 'NO_LOOK', ASLEEP, True),
    ('finds_no_second_look_flag', 'FLAG NO_LOOK', ASLEEP, True),
    ('finds_look_before_wish', 'LOOK_FIRST', ASLEEP, True),
    ('finds_look_before_wish_flag', 'FLAG LOOK_FIRST', ASLEEP, True),
    ('finds_no_fence', 'NO_FENCE', ASLEEP, True),
    ('finds_no_fence_flag', 'FLAG NO_FENCE', ASLEEP, True),
    ('finds_halt_without_recheck', 'NO_RECHECK', ASLEEP, True),
    ('finds_check_with_interrupts_on', 'CHECK_OPEN', ASLEEP, True),
    ('finds_bit_cleared_too_late', 'CLEAR_LATE', ASLEEP, True),
    ('finds_moderation_without_timer', 'MODERATED NO_TIMER', ASLEEP, True),
    ('finds_timer_with_interrupts_on', 'MODERATED TIMER_OPEN', ASLEEP, True),
    ('finds_arming_that_never_rests', 'ALWAYS', ROUND, True),
]


class Trouble(Exception):
    """The search says nothing."""


def call(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=SECONDS, text=True)
    if done.returncode:
        raise Trouble(f'{command[0]}: {done.stdout.strip()[-500:]}')
    return done.stdout


def search(defines, what):
    """What the search of all states printed."""
    with tempfile.TemporaryDirectory() as folder:
        call(['spin', '-a', *('-D' + d for d in defines.split()), MODEL],
             folder)
        call([*CC, '-O1', '-w', '-o', 'pan', 'pan.c',
              '-DNP' if what == ROUND else '-DSAFETY'], folder)
        return call(['./pan', '-m100000', '-w20'] +
                    (['-l'] if what == ROUND else []), folder)


def judge(case):
    """(name, what is wrong or None, what the search came to)"""
    name, defines, what, wanted = case
    try:
        text = search(defines, what)
        errors = re.search(r'errors: (\d+)', text)
        states = re.search(r'(\d+) states, stored', text)
        if not errors or not states:
            raise Trouble('no result: ' + text[-500:])
        came_to = f'{states.group(1)} states, {errors.group(1)} errors'
        if wanted:
            found = f'pan:1: {what} (' in text
            return name, None if found else 'not found', came_to
        if errors.group(1) != '0':
            return name, 'errors: ' + text.split('\n')[0], came_to
        # Half a search proves nothing.
        if 'max search depth too small' in text or 'out of memory' in text:
            raise Trouble('the search was cut short')
        return name, None, came_to
    except (Trouble, OSError, subprocess.TimeoutExpired) as error:
        return name, str(error), ''


def main():
    verbose = '-v' in sys.argv[1:]
    for tool in ('spin', CC[0]):
        if not shutil.which(tool):
            for case in CASES:
                print(f'skip {case[0]}: {tool} is not installed')
            print(f'0 passed, 0 failed, {len(CASES)} skipped')
            return 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, wrong, came_to in pool.map(judge, CASES):
            failed += wrong is not None
            print(f'{"FAIL" if wrong else "ok"} {name}' +
                  (f' ({came_to})' if verbose and came_to else '') +
                  (f': {wrong}' if wrong else ''))
    print(f'{len(CASES) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())

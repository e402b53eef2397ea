"""
Software merging of received segments (net/gro.c): instructions of driver and
stack for each segment of 1460 bytes, with and without it.
"""
import os
import re
import tempfile

from guest import ROOT
from hosted import counters, in_pairs, run
from report import goal, note, section, table

PROGRAM = os.path.join(ROOT, 'build', 'bench', 'gro_bench')

# What arrives between two turns of the loop, and who verifies checksums.
CASES = {
    '32, one connection': {'round': 32},
    '32, one connection, csum here': {'round': 32, 'csum': 'off'},
    '32, eight connections': {'round': 32, 'flows': 8},
    '32, sixteen connections': {'round': 32, 'flows': 16},
    '4, one connection': {'round': 4},
    '1, with PSH': {'round': 1, 'push': 'on'},
    '1, without PSH': {'round': 1},
}


def instructions(setting):
    with tempfile.TemporaryDirectory() as folder:
        done = run(['valgrind', '--tool=callgrind',
                    '--toggle-collect=bench_turn',
                    f'--callgrind-out-file={folder}/out', PROGRAM,
                    *[f'{k}={v}' for k, v in setting.items()]])
    c = counters(done.stdout)
    total = int(re.search(r'Collected : (\d+)', done.stderr).group(1))
    c['ir'] = total / c['segments']
    return c


def measure(quick):
    section('hosted: merging received segments, driver and stack')
    print('command  valgrind --tool=callgrind --toggle-collect=bench_turn '
          'gro_bench mode=small gro=G round=N [flows=N] '
          '[csum=off] [push=on]')
    segments = 2048 if quick else 8192
    runs = {(name, gro): {'mode': 'small', 'gro': gro, 'segments': segments,
                          **case}
            for name, case in CASES.items() for gro in ('on', 'off')}
    found = in_pairs(instructions, runs)
    rows = []
    for name in CASES:
        on, off = found[name, 'on'], found[name, 'off']
        rows.append((name, f'{off["ir"]:.0f}', f'{on["ir"]:.0f}',
                     f'{100 * (on["ir"] / off["ir"] - 1):+.0f} %',
                     f'{off["acks"] / segments:.2f}',
                     f'{on["acks"] / segments:.2f}'))
    table(('segments a turn', 'off', 'on', 'difference', 'ACKs off',
           'ACKs on'), rows)
    ratio = {name: found[name, 'on']['ir'] / found[name, 'off']['ir']
             for name in CASES}
    for name, key in (('32, one connection', 'one_flow'),
                      ('32, eight connections', 'eight_flows')):
        goal(f'gro.hosted.{key}', f'{ratio[name]:.3f}', '<=0.9 of off',
             ratio[name] <= 0.9)
    for name, key in (('1, with PSH', 'alone_push'),
                      ('1, without PSH', 'alone')):
        goal(f'gro.hosted.{key}', f'{ratio[name]:.3f}', '<=1.1 of off',
             ratio[name] <= 1.1)
    note('the discard server and its acknowledgements are included. A segment '
         'alone in its turn pays for being looked at; without PSH it is also '
         'held, for which both its checksums are verified. Who waits for an '
         'answer sets PSH, so that it is rare to be both alone and held')

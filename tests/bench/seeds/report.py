"""
What a measurement prints: the head with all that it depends on, tables,
notes, and one line for each expectation.
"""
import os
import platform
import statistics
import subprocess
import time

START = time.monotonic()
goals = []


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as e:
        return f'{command[0]}: {e.strerror}'
    return done.stdout.partition('\n')[0]


def processor():
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as f:
        for line in f:
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return platform.machine()


def head(quick):
    print('date       ', time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime()))
    print('machine    ', f'{processor()}, {os.cpu_count()} processors, Linux '
          f'{platform.release()}')
    print('load       ', '%.1f %.1f %.1f' % os.getloadavg(),
          '(1, 5, 15 minutes before)')
    print('emulator   ', first_line('qemu-system-x86_64', '--version'))
    print('compiler   ', first_line('gcc', '--version'))
    print('profiler   ', first_line('valgrind', '--version'))
    print('traffic    ', first_line('iperf3', '--version'))
    print('commit     ', first_line('git', 'describe', '--always', '--dirty'))
    print('run        ', 'quick' if quick else 'full', flush=True)


def section(text):
    print(f'\n== {text} [{time.monotonic() - START:.0f} s]\n', flush=True)


def table(columns, rows):
    """Columns of text, the first to the left, the others to the right."""
    rows = [[str(c) for c in columns]] + [[str(c) for c in r] for r in rows]
    widths = [max(len(r[i]) for r in rows) for i in range(len(columns))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print('  ' + '  '.join(cells))
    print(flush=True)


def note(text):
    print('note', text, flush=True)


def goal(name, value, target, reached):
    """One expectation: `goal NAME VALUE TARGET reached|missed`."""
    goals.append((name, reached))
    print('goal', name, value, target, 'reached' if reached else 'missed',
          flush=True)


def median(values):
    return statistics.median(values)


def spread(values):
    """(max - min) / median, in percent."""
    return 100 * (max(values) - min(values)) / max(median(values), 1e-9)


def paired(ours, others):
    """Median of the ratios, round by round: what rounds have in common (the
    speed of the machine at that moment) falls out. And its standard error,
    by the median absolute deviation."""
    ratios = [a / b for a, b in zip(ours, others)]
    middle = median(ratios)
    deviation = 1.4826 * median([abs(r - middle) for r in ratios])
    return middle, 1.2533 * deviation / len(ratios) ** 0.5


def compare(name, rates, ours, other, target):
    """Goal on the ratio of two of {name: [rate of each round]}."""
    ratio, error = paired(rates[ours], rates[other])
    goal(name, f'{ratio:.3f}+-{error:.3f}', f'>={target:.3f} of {other}',
         ratio >= target)
    if ratio < target <= ratio + 2 * error:
        note(f'{name}: missed by less than twice the standard error; spread '
             'of the rounds ' + ', '.join(
                 f'{n} {spread(rates[n]):.0f} %' for n in (ours, other)))
    return ratio


def summary():
    missed = [name for name, reached in goals if not reached]
    print(f'\n{len(goals) - len(missed)} of {len(goals)} expectations reached'
          + (', missed: ' + ' '.join(missed) if missed else '')
          + f'; {time.monotonic() - START:.0f} s')

"""
The driver as a Linux process: builds and runs tests/bench/hosted/rx_bench,
with the profiler for instructions, without it for the clock.
"""
import concurrent.futures
import os
import re
import subprocess
import tempfile

from report import compare, goal, median, note, section, spread, table
from guest import ROOT

PROGRAM = os.path.join(ROOT, 'build', 'bench', 'rx_bench')
LENGTHS = (60, 1514, 65549)
FRAMES = {60: 4096, 1514: 4096, 65549: 1024}
FAULTY = 2.0
FIXED = ('page', 'mtu', '2048')


def words(setting):
    return [f'{k}={v}' for k, v in setting.items()]


def counters(text):
    return {k: int(v) for k, v in re.findall(r'^(\w+) (\d+)$', text, re.M)}


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(command)}: {done.stderr}')
    return done


def instructions(setting):
    """Counters of a run, and 'ir': the driver's instructions."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(['valgrind', '--tool=callgrind',
                    '--toggle-collect=bench_turn',
                    f'--callgrind-out-file={folder}/out', PROGRAM,
                    f'frames={FRAMES[int(setting["len"])]}',
                    *words(setting)])
    found = counters(done.stdout)
    found['ir'] = int(re.search(r'Collected : (\d+)', done.stderr).group(1))
    return found


def in_pairs(work, settings):
    """{name: work(setting)}, as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(settings, pool.map(work, settings.values())))


def policies(quick):
    """Every mode and size with every length of frame: {name: setting}."""
    found = {}
    for length in LENGTHS[quick:]:
        for mode in ('small', 'big'):
            if mode == 'big' or length <= 1514:
                found[mode, length] = {'mode': mode, 'len': length}
        for size in ('page', 'mtu-faulty', 'mtu', '2048', 'auto'):
            found[size, length] = {'buf': size, 'len': length}
    for early in ('on', 'off'):
        for length in LENGTHS[quick:]:
            found['early ' + early, length] = {
                'early': early, 'copy': 'none', 'len': length}
    return found


def per_frame(c, name):
    return c[name] / c['rx_frames']


def pinned(c):
    return c['rx_refill_bytes'] / c['rx_bytes']


def count_instructions(quick):
    """The table; returns {(policy, length): counters}."""
    section('hosted: instructions per frame, the device not counted')
    print('command  valgrind --tool=callgrind --toggle-collect=bench_turn '
          'rx_bench [mode=M] [buf=B] [early=E copy=none] len=L frames=N')
    found = in_pairs(instructions, policies(quick))
    rows = []
    for (name, length), c in found.items():
        rows.append((name, length, f'{per_frame(c, "ir"):.0f}',
                     f'{per_frame(c, "rx_bufs"):.3f}',
                     f'{per_frame(c, "rx_objects"):.3f}',
                     f'{pinned(c):.2f}'))
    rows.sort(key=lambda r: r[1])
    table(('policy', 'frame', 'instructions', 'buffers', 'objects',
           'posted B/B'), rows)
    return found


def judge_buffers(prefix, per):
    for name, want in (('mtu', 1.0), ('mtu-faulty', FAULTY)):
        goal(f'{prefix}.{name}.buffers_per_frame', f'{per[name]:.3f}',
             f'{want:.3f}', abs(per[name] - want) < 0.003)


def judge_instructions(found, quick):
    judge_buffers('s1.hosted', {
        n: per_frame(found[n, 1514], 'rx_bufs') for n in ('mtu', 'mtu-faulty')})
    for length in LENGTHS[quick:]:
        best = min(FIXED, key=lambda n: found[n, length]['ir'])
        ratio = found['auto', length]['ir'] / found[best, length]['ir']
        goal(f's2.hosted.auto_instructions.{length}', f'{ratio:.3f}',
             f'<=1.030 of {best}', ratio <= 1.03)
    for length in LENGTHS[quick:]:
        late, early = (per_frame(found['early ' + e, length], 'ir')
                       for e in ('off', 'on'))
        goal(f's5.hosted.instructions.{length}', f'{late:.0f}',
             f'<={1.01 * early:.0f} (early, and 1 %)', late <= 1.01 * early)


# ---- by the clock, the device on the second processor ----------------------

def clock(settings, rounds, seconds):
    """{name: [counters of each round]}, in the order A B B A."""
    found = {name: [] for name in settings}
    for i in range(rounds):
        order = list(settings) if i % 2 == 0 else list(settings)[::-1]
        for name in order:
            done = run([PROGRAM, f'seconds={seconds}',
                        *words(settings[name])])
            found[name].append(counters(done.stdout))
    return found


def rate(c):
    return c['rx_frames'] * 1e9 / c['ns']


def clock_table(found):
    rows = []
    for name, runs in found.items():
        frames = median([rate(c) for c in runs])
        size = runs[0]['rx_bytes'] / runs[0]['rx_frames']
        rows.append((name, f'{frames / 1e6:.3f}',
                     f'{frames * size * 8 / 1e6:.0f}',
                     f'{spread([rate(c) for c in runs]):.0f}',
                     f'{median([pinned(c) for c in runs]):.2f}'))
    table(('policy, frame', 'Mframes/s', 'Mb/s', 'spread %',
           'posted B/B'), rows)


def by_clock(quick):
    section('hosted: the device in a thread, the client reads every byte and '
            'keeps frames')
    rounds, seconds = (2, 0.15) if quick else (6, 0.25)
    print(f'command  rx_bench keep=128 (8 of 65549) buf=B len=L seconds={seconds}; '
          f'{rounds} rounds, medians')
    for length in LENGTHS[quick:]:
        keep = 128 if length < 65549 else 8
        found = clock({f'{b} {length}': {'buf': b, 'len': length,
                                         'keep': keep}
                       for b in ('page', 'mtu-faulty', 'mtu', '2048',
                                 'auto')}, rounds, seconds)
        clock_table(found)
        rates = {n.split()[0]: [rate(c) for c in r]
                 for n, r in found.items()}
        if length == 1514:
            for other in ('page', 'mtu-faulty'):
                compare(f's1.hosted.mtu_against_{other}', rates, 'mtu',
                        other, 1.0)
        best = max(FIXED, key=lambda n: median(rates[n]))
        compare(f's2.hosted.auto.{length}', rates, 'auto', best, 0.97)
        if length == 60:
            note('frames of 60 bytes are copied and no buffer is posted for '
                 'them: their size has no effect, and the counts of '
                 'instructions above agree; differences here are noise')
    found = clock({f'early={e} 60': {'early': e, 'copy': 'none', 'len': 60,
                                     'keep': 128}
                   for e in ('on', 'off')}, rounds, seconds)
    clock_table(found)


def measure(quick):
    judge_instructions(count_instructions(quick), quick)
    by_clock(quick)

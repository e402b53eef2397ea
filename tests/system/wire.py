"""
What a capture says of the frames in it: tshark reads them, and judge() finds
fault. The capture is one of cable.py, in which all frames are as on a wire.
"""
import os
import shutil
import subprocess

GUEST_MAC = '52:54:00:12:34:56'
ETHER, IP6_HEADER = 14, 40
ETHER_MIN = 60          # with padding, without the check sequence
MTU = 1500
# Servers whose payload is ours, or random: nothing to dissect.
PORTS = (7, 9, 19, 5201)

FIELDS = '''frame.number frame.len eth.src
    ip.hdr_len ip.len ip.id ip.flags.mf ip.frag_offset ip.checksum.status
    ipv6.plen ipv6.fraghdr.offset ipv6.fraghdr.more udp.length udp.checksum
    udp.checksum.status tcp.checksum.status icmp.checksum.status
    icmpv6.checksum.status tcp.stream tcp.len tcp.flags.syn
    tcp.options.mss_val tcp.analysis.retransmission
    tcp.analysis.spurious_retransmission tcp.analysis.fast_retransmission
    tcp.analysis.out_of_order tcp.analysis.lost_segment
    tcp.analysis.ack_lost_segment tcp.analysis.duplicate_ack_num
    tcp.flags.reset tcp.checksum _ws.malformed _ws.expert.severity _ws.expert.group
    _ws.expert.message'''.split()

CHECKSUMS = ('ip', 'udp', 'tcp', 'icmp', 'icmpv6')
GOOD = '1'              # tshark's checksum.status
# On a path that loses nothing and keeps the order, there is none of these.
NEVER_CLEAN = ('retransmission', 'spurious_retransmission',
               'fast_retransmission', 'out_of_order', 'lost_segment',
               'ack_lost_segment', 'duplicate_ack_num')
WARN = 0x600000         # tshark's expert severity; error is above
SEQUENCE = 0x02000000   # the expert group of NEVER_CLEAN, and of full windows


def available():
    return shutil.which('tshark') is not None


def _command(path):
    command = ['tshark', '-n', '-r', path, '-T', 'fields',
               '-E', 'occurrence=a', '-E', 'aggregator=;']
    for name in ('tcp.check_checksum', 'ip.check_checksum',
                 'udp.check_checksum', 'ip.defragment', 'ipv6.defragment',
                 'tcp.analyze_sequence_numbers'):
        command += ['-o', name + ':TRUE']
    for port in PORTS:
        command += ['-d', f'tcp.port=={port},data',
                    '-d', f'udp.port=={port},data']
    for field in FIELDS:
        command += ['-e', field]
    return command


def read(path, seconds=60):
    """A dictionary for each frame, of the fields that it has, as text."""
    # Wireshark wants a home to look for settings in: an empty one.
    env = dict(os.environ, HOME=os.path.dirname(path),
               XDG_CONFIG_HOME=os.path.dirname(path))
    done = subprocess.run(_command(path), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env,
                          timeout=seconds, check=False)
    assert done.returncode == 0, f'tshark: {done.stderr.strip()}'
    return [{f: v for f, v in zip(FIELDS, line.split('\t')) if v}
            for line in done.stdout.splitlines()]


def _is_set(frame, field):
    return frame.get(field, '0') in ('1', 'True')


class Judge:
    """Goes through the frames and keeps what it finds wrong."""

    def __init__(self, clean, device_sums):
        self.clean = clean      # the path lost nothing
        self.device_sums = device_sums  # finished below the guest
        self.faults = []
        self.seen = {}          # frames of the guest by kind
        self.udp_sizes = set()  # payloads that the guest sent
        self.full = 0           # the guest's segments of a full MSS
        self.udp_ffff = 0       # its datagrams whose checksum came out as 0
        self._mss = {}          # (stream, from the guest) -> as announced
        self._ids = {}          # the guest's IPv4 identifications -> frame

    def fault(self, frame, text):
        self.faults.append(
            f'frame {frame["frame.number"]} from {frame.get("eth.src")}: '
            f'{text}')

    def take(self, frame):
        self.mine = frame.get('eth.src') == GUEST_MAC
        self._checksums(frame)
        self._lengths(frame)
        if 'tcp.len' in frame:
            self._tcp(frame)
        if 'udp.length' in frame:
            self._udp(frame)
        if self.mine and 'ip.id' in frame:
            self._identification(frame)
        self._expert(frame)

    def _checksums(self, frame):
        for kind in CHECKSUMS:
            status = frame.get(kind + '.checksum.status')
            if status is None:
                continue
            if self.mine:
                self.seen[kind] = self.seen.get(kind, 0) + 1
            if status != GOOD and not (kind == 'tcp' and self._by_linux(frame)):
                self.fault(frame, f'{kind} checksum: status {status}')

    def _by_linux(self, frame):
        """Linux, where it finishes a checksum in software, writes a sum of 0
        as 0xffff, as is right for UDP, for TCP too. Both mean the same to a
        receiver; tshark objects to it. The guest itself must not."""
        return frame['tcp.checksum'] == '0xffff' and \
            'instead of 0x0000' in frame.get('_ws.expert.message', '') and \
            (self.device_sums or not self.mine)

    def _lengths(self, frame):
        """The frame is as long as its IP header says, the datagram within it
        as long as its own says, and a fragment but the last a multiple of 8.
        """
        size = int(frame['frame.len'])
        if 'ip.len' in frame:
            body = int(frame['ip.len']) - int(frame['ip.hdr_len'])
            total = ETHER + int(frame['ip.len'])
            more = _is_set(frame, 'ip.flags.mf')
            whole = not more and int(frame['ip.frag_offset']) == 0
        elif 'ipv6.plen' in frame:
            body = int(frame['ipv6.plen'])
            total = ETHER + IP6_HEADER + body
            more = _is_set(frame, 'ipv6.fraghdr.more')
            whole = 'ipv6.fraghdr.offset' not in frame
        else:
            return
        if size not in (total, max(total, ETHER_MIN)):
            self.fault(frame, f'{size} bytes, its IP header says {total}')
        if total > ETHER + MTU:
            self.fault(frame, f'{total - ETHER} bytes, the MTU is {MTU}')
        if more and body % 8:
            self.fault(frame, f'a fragment of {body} bytes')
        if whole and 'udp.length' in frame and \
                int(frame['udp.length']) != body:
            self.fault(frame, f'UDP length {frame["udp.length"]}, IP {body}')

    def _tcp(self, frame):
        stream, size = frame['tcp.stream'], int(frame['tcp.len'])
        if 'tcp.options.mss_val' in frame:
            self._mss[stream, self.mine] = int(frame['tcp.options.mss_val'])
        limit = self._mss.get((stream, not self.mine))
        if limit is None:
            if size:
                self.fault(frame, 'data before the peer said its MSS')
        elif size > limit:
            self.fault(frame, f'{size} bytes, the MSS is {limit}')
        elif self.mine and size == limit:
            self.full += 1

    def _udp(self, frame):
        if self.mine:
            self.udp_sizes.add(int(frame['udp.length']) - 8)
            self.udp_ffff += int(frame['udp.checksum'], 0) == 0xffff

    def _identification(self, frame):
        """No other datagram on its way has the same, or reassembly would mix
        them up (RFC 6864, 4.3)."""
        if _is_set(frame, 'ip.flags.mf') or int(frame['ip.frag_offset']):
            return
        key, number = int(frame['ip.id'], 0), int(frame['frame.number'])
        if number - self._ids.get(key, -1000) < 1000:
            self.fault(frame, f'identification {key:#x} as in frame '
                       f'{self._ids[key]}')
        self._ids[key] = number

    def _expert(self, frame):
        if self.clean:
            for name in NEVER_CLEAN:
                if 'tcp.analysis.' + name in frame:
                    self.fault(frame, 'TCP: ' + name)
            if _is_set(frame, 'tcp.flags.reset'):
                self.fault(frame, 'TCP: reset')
        if '_ws.malformed' in frame:
            self.fault(frame, 'malformed')
        if 'tcp.len' in frame and self._by_linux(frame):
            return
        # Full windows and the like are warnings as well, but in good order.
        for severity, group in zip(
                frame.get('_ws.expert.severity', '').split(';'),
                frame.get('_ws.expert.group', '').split(';')):
            if severity and int(severity, 0) >= WARN and \
                    int(group, 0) != SEQUENCE:
                self.fault(frame, 'tshark: ' +
                           frame.get('_ws.expert.message', group))


def judge(path, clean=True, device_sums=True):
    """Reads a capture; the judge, who has found no fault."""
    frames = read(path)
    found = Judge(clean, device_sums)
    for frame in frames:
        found.take(frame)
    assert not found.faults, f'{len(found.faults)} faults in ' \
        f'{len(frames)} frames:\n  ' + '\n  '.join(found.faults[:12])
    return found

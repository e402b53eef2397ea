#!/usr/bin/env python3
"""Prints the first port of 127.0.0.1, from the given one on, that is free for
TCP and for UDP."""

import socket
import sys


def free(port):
    try:
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            with socket.socket(socket.AF_INET, kind) as s:
                # Connections of the past do not count.
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR,
                             int(kind == socket.SOCK_STREAM))
                s.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


for number in range(int(sys.argv[1]), 65536):
    if free(number):
        print(number)
        break
else:
    sys.exit("no free port from " + sys.argv[1] + " on")

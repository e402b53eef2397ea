#!/bin/bash
#
# `make debug`: boots the kernel stopped, at a debugger stub on a free port of
# 127.0.0.1. On a terminal gdb is started as well, and the console goes to
# build/debug-console.log; else the console is here and gdb is for the caller
# to start. Settings as in boot/qemu.sh.

set -eu

cd "$(dirname "$0")/.."
log=build/debug-console.log

export NET=${NET:-user} GDB=${GDB:-127.0.0.1:$(boot/free_port.py 1234)}
if [ "$NET" = user ] && [ -z "${PORT:-}" ]; then
    PORT=$(boot/free_port.py 5201)
    export PORT
fi
cat <<END
The guest waits for a debugger at $GDB:

    gdb build/vireo.elf -ex 'target remote $GDB' -x boot/gdb/vireo.gdb

END
[ "$NET" != user ] || echo "Its port 5201 is 127.0.0.1:$PORT once it runs."

if ! [ -t 0 ]; then
    exec boot/qemu.sh
fi
echo "The console is in $log."
# In a session of its own: Ctrl-C is gdb's.
SERIAL=${SERIAL:-file:$log} setsid boot/qemu.sh </dev/null &
guest=$!
trap 'kill $guest 2>/dev/null || true' EXIT
trap : INT
gdb -q build/vireo.elf -ex "target remote $GDB" -x boot/gdb/vireo.gdb

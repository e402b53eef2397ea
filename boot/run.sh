#!/bin/bash
#
# `make run`: boots the kernel with its console on this terminal and says
# what to try. Settings as in boot/qemu.sh; a port that is not set is the first
# free one from 5201 on. NET=tap goes to boot/tap.sh.

set -eu

here=$(dirname "$0")

case ${NET:-user} in
tap) exec "$here/tap.sh" ;;
user)
    PORT=${PORT:-$("$here/free_port.py" 5201)}
    export PORT
    cat <<END
Once the console says it is ready, in another terminal:

    iperf3 -c 127.0.0.1 -p $PORT
    iperf3 -c 127.0.0.1 -p $PORT -R
    iperf3 -c 127.0.0.1 -p $PORT -u -b 100M

Here 'help' lists the console's commands; 'poweroff' or Ctrl-C ends it.
END
    ;;
esac
exec "$here/qemu.sh"

#!/bin/bash
#
# `make run NET=tap`: the kernel and a shell in a network of their own, joined
# by a tap interface: the host's end is 10.0.2.2, the guest 10.0.2.15. Needs
# no root: user and network namespaces hold all of it, and it is gone when
# the shell ends.
#
#   CMD   run this instead of the shell; its exit status is ours
#   LOG   the console's output (build/tap-console.log)
#
# Further settings as in boot/qemu.sh.

set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
guest_ip=10.0.2.15
host_ip=10.0.2.2

die() {
    echo "tap.sh: $*" >&2
    exit 1
}

if [ "${1:-}" != inside ]; then
    [ -c /dev/net/tun ] || die "there is no /dev/net/tun here"
    if unshare -Urn true 2>/dev/null; then
        exec unshare -Urn "$0" inside
    fi
    # In a chroot, for one, there is no user namespace to be had; root needs
    # none.
    [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null ||
        die "this system allows no user and network namespaces here" \
            "(sysctl user.max_user_namespaces and the like)"
    exec unshare -n "$0" inside
fi

make_network() {
    ip link set lo up &&
        ip tuntap add dev tap0 mode tap vnet_hdr &&
        ip address add "$host_ip/24" dev tap0 &&
        ip link set tap0 up ||
        die "no rights inside the namespace; on Ubuntu, see sysctl" \
            "kernel.apparmor_restrict_unprivileged_userns"
}

running() {
    kill -0 "$guest" 2>/dev/null
}

wait_ready() {
    local i

    for ((i = 0; i < 300; i++)); do
        ! grep -q '\] ready' "$LOG" || return 0
        running || break
        sleep 0.1
    done
    cat "$LOG" >&2
    die "the guest did not get ready"
}

# Politely first, so that the guest's last words are in the log.
finish() {
    local i

    echo poweroff >&3
    for ((i = 0; i < 50; i++)); do
        running || break
        sleep 0.1
    done
    kill "$guest" 2>/dev/null || true
    wait "$guest" 2>/dev/null || true
    rm -rf "$work"
}

make_network
work=$(mktemp -d "${TMPDIR:-/tmp}/vireo-tap.XXXXXX")
CONSOLE=$work/console
LOG=${LOG:-$root/build/tap-console.log}
export CONSOLE LOG
mkfifo "$CONSOLE"
exec 3<>"$CONSOLE"
: >"$LOG"
# In a session of its own: Ctrl-C is for what runs in front.
NET=tap TAP=tap0 SERIAL=stdio setsid "$root/boot/qemu.sh" \
    <"$CONSOLE" >"$LOG" 2>&1 3>&- &
guest=$!
trap finish EXIT
wait_ready

if [ -n "${CMD:-}" ]; then
    status=0
    bash -c "$CMD" 3>&- || status=$?
    running || die "the guest ended meanwhile; its console is in $LOG"
    exit "$status"
fi
cat <<END
A network with the guest at $guest_ip, and you at $host_ip. Try

    iperf3 -c $guest_ip
    iperf3 -c $guest_ip -R
    ping $guest_ip
    tail $LOG
    echo stats >\$CONSOLE

The end of this shell is the end of the guest.
END
PS1='(vireo) \w\$ ' bash --norc 3>&- || true

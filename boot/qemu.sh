#!/bin/bash
#
# Boots the kernel in QEMU: the one place that builds a QEMU command line.
#
#     boot/qemu.sh [--print]
#
# --print shows the command line instead of running it. Otherwise this process
# becomes QEMU, so that its process id is the one to signal. Settings are
# environment variables; empty means the default:
#
#   ACCEL    auto (default), kvm, tcg, or what -accel understands
#   MACHINE  q35 (default), pc
#   CPU      qemu64 (default; host with kvm)
#   MEM      256M
#   BOOT     elf32 (default; multiboot 1), pvh, iso (GRUB, multiboot 2)
#   IMAGE    the file to boot instead of the one in build/
#   APPEND   the guest's command line; not with BOOT=iso
#   NET      user (default), tap, none
#   PORT     host port of 127.0.0.1 for the guest's 5201, TCP and UDP (5201);
#   PORT_ECHO, PORT_DISCARD, PORT_CHARGEN, PORT_SOCKPERF
#            the same for 7, 9, 19 and 11111, where set; all for NET=user
#   TAP      name of an existing tap interface for NET=tap
#   DEVICE   further options of virtio-net-pci, such as mrg_rxbuf=off
#   NIC      another device instead of it, such as e1000; taken as it is if it
#            says netdev= itself (the back end is called net0)
#   SERIAL   stdio (default), or another -serial destination
#   QMP, HMP paths of unix sockets for the two kinds of monitor
#   GDB      host:port of a debugger stub; the guest starts stopped
#   EXTRA    further arguments, split at blanks; they come before the network
#            device, which may sit on a bus that they make (DEVICE=bus=...)
#   QEMU     the program

set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
guest_ip=10.0.2.15
guest_gw=10.0.2.2

die() {
    echo "qemu.sh: $*" >&2
    exit 2
}

# Inside an option's value a comma is written twice.
escape() {
    printf '%s' "${1//,/,,}"
}

# A KVM node without either flag behind it is itself an emulation, and
# hundreds of times slower than QEMU's.
accel() {
    case ${ACCEL:-auto} in
    auto)
        if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
            echo kvm
        else
            echo tcg,thread=multi
        fi
        ;;
    tcg) echo tcg,thread=multi ;;
    *) echo "$ACCEL" ;;
    esac
}

machine_args() {
    local accel
    accel=$(accel)
    local cpu=qemu64

    case $accel in
    kvm*) cpu=host ;;
    esac
    # One processor is all the kernel uses. But an emulator that knows there
    # will never be a second drops the guest's memory barriers, although its
    # device threads run beside the guest all the same: a doorbell can be lost.
    args+=(-machine "${MACHINE:-q35}" -accel "$accel" -cpu "${CPU:-$cpu}"
        -smp 1,maxcpus=2 -m "${MEM:-256M}"
        -nodefaults -no-reboot -display none
        -device isa-debug-exit,iobase=0xf4,iosize=4)
}

command_line() {
    local append=${APPEND:-}

    case " $append" in
    *" ip="*) ;;
    *) [ "${NET:-user}" = none ] ||
        append="ip=$guest_ip/24 gw=$guest_gw${append:+ $append}" ;;
    esac
    printf '%s' "$append"
}

boot_args() {
    local image

    case ${BOOT:-elf32} in
    elf32) image=vireo32.elf ;;
    pvh) image=vireo.elf ;;
    iso) image=vireo.iso ;;
    *) die "BOOT=$BOOT: elf32, pvh or iso expected" ;;
    esac
    image=${IMAGE:-$build/$image}
    [ -r "$image" ] || die "no image $image: 'make kernel' ('make iso') first"
    if [ "${BOOT:-elf32}" != iso ]; then
        args+=(-kernel "$image" -append "$(command_line)")
        return
    fi
    [ -z "${APPEND:-}" ] || die "BOOT=iso: boot/grub.cfg has the command line"
    args+=(-cdrom "$image" -boot d)
}

forward() { # host port, guest port
    netdev+=,hostfwd=tcp:127.0.0.1:$1-$guest_ip:$2
    netdev+=,hostfwd=udp:127.0.0.1:$1-$guest_ip:$2
}

net_args() {
    local netdev
    local nic="virtio-net-pci,netdev=net0,romfile=${DEVICE:+,$DEVICE}"

    case ${NET:-user} in
    user)
        netdev=user,id=net0
        forward "${PORT:-5201}" 5201
        [ -z "${PORT_ECHO:-}" ] || forward "$PORT_ECHO" 7
        [ -z "${PORT_DISCARD:-}" ] || forward "$PORT_DISCARD" 9
        [ -z "${PORT_CHARGEN:-}" ] || forward "$PORT_CHARGEN" 19
        [ -z "${PORT_SOCKPERF:-}" ] || forward "$PORT_SOCKPERF" 11111
        ;;
    tap)
        [ -n "${TAP:-}" ] || die "NET=tap needs TAP=interface"
        netdev=tap,id=net0,ifname=$TAP,script=no,downscript=no,vnet_hdr=on
        ;;
    none) return ;;
    *) die "NET=$NET: user, tap or none expected" ;;
    esac
    # No boot ROM: nobody but the driver has touched the device before.
    case ${NIC:-} in
    '') ;;
    *netdev=*) nic=$NIC ;;
    *) nic=$NIC,netdev=net0,romfile= ;;
    esac
    args+=(-netdev "$netdev" -device "$nic")
}

access_args() {
    args+=(-serial "${SERIAL:-stdio}")
    [ -z "${QMP:-}" ] ||
        args+=(-qmp "unix:$(escape "$QMP"),server=on,wait=off")
    [ -z "${HMP:-}" ] ||
        args+=(-chardev "socket,id=hmp,path=$(escape "$HMP"),server=on,wait=off"
            -mon chardev=hmp,mode=readline)
    case ${GDB:-} in
    '') ;;
    tcp:* | unix:*) args+=(-gdb "$GDB" -S) ;;
    *) args+=(-gdb "tcp:$GDB" -S) ;;
    esac
}

qemu=${QEMU:-qemu-system-x86_64}
args=()
machine_args
boot_args
access_args
extra=()
read -r -d '' -a extra <<<"${EXTRA:-}" || true
args+=("${extra[@]}")
net_args

case ${1:-} in
'') ;;
--print)
    for word in "$qemu" "${args[@]}"; do
        [[ $word =~ ^[A-Za-z0-9_./:=,+@-]+$ ]] || word=${word@Q}
        printf '%s ' "$word"
    done
    echo
    exit 0
    ;;
*) die "unknown argument $1; the head of $0 says what there is" ;;
esac
command -v "$qemu" >/dev/null ||
    die "no $qemu here: 'boot/setup.sh demo' installs it"
exec "$qemu" "${args[@]}"

#!/bin/bash
#
# Installs what is missing, and nothing when nothing is.
#
#     boot/setup.sh [demo] [run-tap] [debug] [iso] [capture] [proof] [test]
#                   [bench] [all]
#
#   demo     (default) compiler, emulator, iperf3
#   run-tap  what `make run NET=tap` needs
#   debug    a debugger
#   iso      what makes an image for GRUB
#   capture  what reads captures
#   proof    what searches the models of tests/proof
#   test     demo, run-tap, debug, iso, capture; sockperf
#   bench    demo, run-tap, a profiler, and sockperf
#   all      test, proof, and what only `make lint` uses
#
# By apt-get, with sudo where we are not root. Whatever is there already, from
# a package or not, is left alone. lwIP comes with every group
# (boot/fetch-lwip.sh). What not every distribution has (sockperf) may be
# missing: the tests that want it then say that they are skipped.

set -eu

cd "$(dirname "$0")/.."
log=build/setup.log

# group, package, and what tells that it is there: a program or a file
table='
demo     gcc              gcc
demo     libc6-dev        /usr/include/stdio.h
demo     binutils         ld
demo     make             make
demo     qemu-system-x86  qemu-system-x86_64
demo     iperf3           iperf3
demo     python3          python3
demo     xz-utils         xz
run-tap  iproute2         ip
run-tap  util-linux       unshare
run-tap  iputils-ping     ping
debug    gdb              gdb
iso      grub-common      grub-mkrescue
iso      grub-pc-bin      /usr/lib/grub/i386-pc/multiboot2.mod
iso      xorriso          xorriso
iso      mtools           mformat
bench    valgrind         valgrind
maybe    sockperf         sockperf
capture  tshark           tshark
proof    gcc              gcc
proof    libc6-dev        /usr/include/stdio.h
proof    python3          python3
proof    spin             spin
all      clang-format     clang-format
all      cppcheck         cppcheck
'

die() {
    echo "setup: $*" >&2
    exit 1
}

groups_of() {
    case $1 in
    demo | run-tap | debug | iso | capture | proof) echo "$1" ;;
    test) echo demo run-tap debug iso capture maybe ;;
    bench) echo demo run-tap bench maybe ;;
    all) echo demo run-tap debug iso capture proof maybe all ;;
    *) die "no group '$1'; the head of $0 says what there is" ;;
    esac
}

present() {
    case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ;;
    esac
}

missing_packages() { # groups
    local group package proof

    while read -r group package proof; do
        case " $* " in
        *" $group "*) present "$proof" || echo "$package" ;;
        esac
    done <<<"$table"
}

install() { # packages
    local become=()

    command -v apt-get >/dev/null ||
        die "missing: $*. These are Debian's names, and there is no apt-get" \
            "here; please install the like yourself."
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            die "missing: $*. This is neither root nor is there sudo: please" \
                "have somebody run 'apt-get install $*'."
        become=(sudo)
    fi
    echo "setup: installing $*${become:+ (with sudo)};" \
        "what apt-get says goes to $log"
    mkdir -p build
    : >"$log"
    # iperf3's package would ask whether to start a server, and tshark's who
    # may capture: nobody by it, as the tests only let it read files.
    become+=(env DEBIAN_FRONTEND=noninteractive)
    "${become[@]}" apt-get -q update >>"$log" 2>&1 ||
        echo "setup: the package lists are not all up to date; going on"
    "${become[@]}" apt-get -q install -y --no-install-recommends "$@" \
        >>"$log" 2>&1 </dev/null || {
        tail -n 20 "$log" >&2
        die "apt-get could not install: $*"
    }
}

# Packages to be had or not; what failed is not tried again.
install_maybe() { # packages
    local package

    for package in "$@"; do
        [ ! -e "build/without-$package" ] || continue
        (install "$package") && continue
        echo "setup: going on without $package"
        mkdir -p build
        : >"build/without-$package"
    done
}

groups=
for word in "${@:-demo}"; do
    groups="$groups $(groups_of "$word")" || exit 1
done
missing=$(missing_packages ${groups//maybe/})
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086
    install $missing
    missing=$(missing_packages ${groups//maybe/})
    [ -z "$missing" ] || die "installed, but still not found:" $missing
fi
case " $groups " in
# shellcheck disable=SC2046
*" maybe "*) install_maybe $(missing_packages maybe) ;;
esac
exec boot/fetch-lwip.sh

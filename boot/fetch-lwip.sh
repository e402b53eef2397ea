#!/bin/bash
#
# Puts lwIP 2.2.1, unmodified and verified, into build/lwip. Says nothing when
# it is there already.
#
# From, in this order: the cache (${XDG_CACHE_HOME:-~/.cache}/vireo); Debian's
# source package, by apt-get with a source list and state folders of our own,
# so that the system's stay as they are; upstream's tagged release, by git.
# Whatever the way, nothing is used that does not have the checksum below.
#
# LWIP_DIR overrides all of this (Makefile). LWIP_GIT is another place to
# clone upstream's repository from.

set -eu

# Of the original tarball in Debian's source package.
tarball_sum=83729c274c499d3348e9fbbe043a3113f3fa8953e7efddc7c21c7fcbb1f2b7b1
# Of the sums of all files below src/, in the order of their names.
src_sum=181a4fb60f61d7e5d6e4596ab2b0487bb634105826460a8f8d581598258a154d
suite=trixie
tag=STABLE-2_2_1_RELEASE
git_urls=${LWIP_GIT:-https://github.com/lwip-tcpip/lwip
https://git.savannah.nongnu.org/git/lwip.git}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
dest=$build/lwip
stamp=$dest/.verified
cache=${XDG_CACHE_HOME:-${HOME:-$build}/.cache}/vireo
tarball=$cache/lwip-2.2.1.tar.xz

say() {
    echo "lwip: $*"
}

sum_of() {
    sha256sum "$1" | cut -d ' ' -f 1
}

src_sum_of() {
    (cd "$1" && find src -type f -print0 | LC_ALL=C sort -z |
        xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
}

genuine() {
    [ -d "$1/src" ] && [ "$(src_sum_of "$1")" = "$src_sum" ]
}

# The folder appears under its name only when it is complete.
install_tree() {
    local tree=$1

    genuine "$tree" || return 1
    echo "$src_sum" >"$tree/.verified"
    rm -rf "$work/old"
    [ ! -e "$dest" ] || mv "$dest" "$work/old"
    mv "$tree" "$dest"
}

unpack() {
    rm -rf "$work/tree"
    mkdir "$work/tree"
    tar -xf "$1" -C "$work/tree" --strip-components=1 --no-same-owner &&
        install_tree "$work/tree"
}

from_cache() {
    [ -r "$tarball" ] && unpack "$tarball" && return
    rm -f "$tarball"
    return 1
}

to_cache() {
    mkdir -p "$cache" && cp "$1" "$tarball.$$" && mv "$tarball.$$" "$tarball" ||
        say "not kept for next time: $cache cannot be written"
}

# Base addresses of Debian mirrors in the system's own configuration, read by
# apt-get itself. What is not a Debian mirror after all will fail to verify.
mirrors() {
    local codename

    [ -r /etc/os-release ] || return 0
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && [ "${ID:-}" = debian ] &&
        echo "${VERSION_CODENAME:-sid}") || return 0
    apt-get "${apt_options[@]}" --print-uris update 2>/dev/null |
        sed -n "s|^'\(.*\)/dists/\([^/]*\)/InRelease'.*|\1 \2|p" |
        grep -v '^cdrom:' |
        grep -E " ($codename|$suite|sid|(old)*stable|testing|unstable)\$" |
        cut -d ' ' -f 1 | sort -u
}

fetch_from_mirror() {
    local options=("${apt_options[@]}" -o "Dir::Etc::sourcelist=$work/list"
        -o Dir::Etc::sourceparts=-)
    local file

    echo "deb-src [signed-by=$keyring] $1 $suite main" >"$work/list"
    rm -rf "$work/apt" "$work/src"
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/src"
    apt-get "${options[@]}" -q update &&
        (cd "$work/src" &&
            apt-get "${options[@]}" -q source --download-only lwip) || return 1
    for file in "$work"/src/*.orig.tar.*; do
        [ "$(sum_of "$file")" = "$tarball_sum" ] || continue
        unpack "$file" && to_cache "$file"
        return
    done
    say "the mirror's lwip is not the expected 2.2.1"
    return 1
}

from_debian() {
    local mirror
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    local apt_options=(-o "Dir::State::lists=$work/apt/lists"
        -o "Dir::Cache=$work/apt" -o APT::Sandbox::User=root
        -o Acquire::Languages=none -o Acquire::Retries=2
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30
        -o Debug::NoLocking=true)

    command -v apt-get >/dev/null && [ -r "$keyring" ] || return 1
    mkdir -p "$work/apt/lists/partial"
    for mirror in $(mirrors); do
        say "fetching Debian's source package ($suite)"
        fetch_from_mirror "$mirror" >"$work/log" 2>&1 && return
        sed 's/^/    /' "$work/log"
    done
    return 1
}

from_git() {
    local url

    command -v git >/dev/null || return 1
    for url in $git_urls; do
        say "fetching upstream's $tag from $url"
        rm -rf "$work/git"
        GIT_TERMINAL_PROMPT=0 timeout 300 git -c core.autocrlf=false \
            -c advice.detachedHead=false clone -q --depth 1 --branch "$tag" \
            "$url" "$work/git" || continue
        git -C "$work/git" archive --prefix=lwip-2.2.1/ HEAD |
            xz -T0 >"$work/lwip.tar.xz"
        unpack "$work/lwip.tar.xz" && to_cache "$work/lwip.tar.xz" && return
        say "this is not the expected 2.2.1"
    done
    return 1
}

[ "$(cat "$stamp" 2>/dev/null)" != "$src_sum" ] || exit 0
mkdir -p "$build"
exec 9>"$build/lwip.lock"
flock 9 # another make may be fetching it
[ "$(cat "$stamp" 2>/dev/null)" != "$src_sum" ] || exit 0

if genuine "$dest"; then
    echo "$src_sum" >"$stamp"
    exit 0
fi
work=$(mktemp -d "$build/lwip-fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
from_cache || from_debian || from_git || {
    say "lwIP 2.2.1 is not to be had from here: no Debian mirror with $suite" \
        "and no upstream repository was reached. With a copy of your own," \
        "say make LWIP_DIR=/path/to/lwip."
    exit 1
}
say "2.2.1 verified, in build/lwip"

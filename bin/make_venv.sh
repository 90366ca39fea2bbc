#!/bin/sh
# Makes a virtual environment with pip: bin/make_venv.sh FOLDER
#
# Debian ships python3.11 without ensurepip unless python3.11-venv is installed.
# There, pip is unpacked from Debian's own package into a temporary folder and
# put into the new environment; this needs no root and leaves the system alone.
set -eu

fail() {
    echo "error: $1" >&2
    exit 1
}

find_python() {
    for name in ${PYTHON:-python3.11 python3.12 python3}; do
        if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' \
            2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "${PYTHON:-python3.11 or python3.12} not found or not version 3.11 or 3.12; on Debian 12: apt install python3.11"
}

# Prints the folder that holds pip's wheel and Debian's certificates.
unpack_debian_pip() {
    mkdir -p "$scratch/lists/partial" "$scratch/cache/archives/partial"
    cd "$scratch"
    set -- -o "Dir::State::Lists=$scratch/lists" -o "Dir::Cache=$scratch/cache" \
        -o APT::Sandbox::User=
    apt-get "$@" -qq update >&2
    apt-get "$@" -qq download python3-pip-whl ca-certificates >&2
    for package in ./*.deb; do
        dpkg-deb -x "$package" "$scratch/root"
    done
    cat root/usr/share/ca-certificates/mozilla/*.crt >root/certificates.pem
}

install_pip() {
    command -v apt-get >/dev/null || fail "$python has no ensurepip: install it"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    (unpack_debian_pip) ||
        fail "$python has no ensurepip; on Debian 12: apt install python3.11-venv"
    wheel=$(echo "$scratch"/root/usr/share/python-wheels/pip-*.whl)
    PIP_CERT=${PIP_CERT:-$scratch/root/certificates.pem} \
        "$venv/bin/python" "$wheel/pip" --quiet install pip
}

venv=$1
python=$(find_python)
rm -rf "$venv"
if "$python" -c 'import ensurepip' 2>/dev/null; then
    "$python" -m venv "$venv"
else
    "$python" -m venv --without-pip "$venv"
    install_pip
fi

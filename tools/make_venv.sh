#!/usr/bin/env bash
# Make the virtual environment with the first Python >= 3.11 on the path, or say in one line what is missing.
set -euo pipefail
venv=${1:?usage: make_venv.sh DIR}

find_python() {
    for name in "${PYTHON:-python3}" python3.11 python3.12 python3.13 python3.14; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ]; then
    echo "make: Python 3.11 or newer is missing; install it (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/python" >&2
    exit 2
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "==> Installing python3-venv"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
        echo "make: $python has no venv module; install it (Debian: apt-get install python3-venv)" >&2
        exit 2
    fi
fi
echo "==> Making $venv with $("$python" --version)"
"$python" -m venv "$venv"

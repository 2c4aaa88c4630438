#!/usr/bin/env bash
# Say in one line what is missing when Node 20 or npm is not there.
set -euo pipefail
fix="install Node.js 20 or newer with npm (Debian: apt-get install nodejs npm, or a release from nodejs.org)"
if ! command -v node >/dev/null 2>&1; then
    echo "make: Node.js is missing; $fix" >&2
    exit 2
fi
major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 20 ]; then
    echo "make: Node.js $(node --version) is too old; $fix" >&2
    exit 2
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "make: npm is missing; $fix" >&2
    exit 2
fi

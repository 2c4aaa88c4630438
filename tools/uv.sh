#!/usr/bin/env bash
# uv.sh PYTHON ARGUMENTS: run that Python's uv with these arguments. uv reads none of pip's settings, so it is told here where
# pip's variables say that distributions come from. Of several places pip separates one from the next by a space, uv by
# a comma.
set -euo pipefail
links=${PIP_FIND_LINKS:-}
export UV_FIND_LINKS=${UV_FIND_LINKS:-${links// /,}} UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-}}
export UV_INDEX=${UV_INDEX:-${PIP_EXTRA_INDEX_URL:-}}
exec "$1" -m uv "${@:2}"

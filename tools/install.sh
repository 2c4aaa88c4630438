#!/usr/bin/env bash
# install.sh PYTHON site|test: install into that Python exactly what requirements/*.txt name, checked by hash, and then
# this project itself, editable. Nothing is resolved and nothing is built but the project.
set -euo pipefail
python=${1:?usage: install.sh PYTHON site|test}
what=${2:?usage: install.sh PYTHON site|test}
cd "$(dirname "$0")/.."

with_pip() { "$python" -m pip install --quiet --disable-pip-version-check --no-deps "$@"; }
# pip also reads settings from files, so it tries again where uv fails.
install() { tools/uv.sh "$python" pip install --quiet --no-deps --python "$python" "$@" || with_pip "$@"; }

with_pip --require-hashes --requirement requirements/uv.txt
install --require-hashes --requirement "requirements/$what.txt"
if [ "$what" = test ]; then
    # A machine may have PyTorch's build without CUDA at hand. If not: PyPI's, which on Linux needs CUDA's libraries even
    # to be imported, gigabytes of them.
    if ! install --require-hashes --requirement requirements/torch-cpu.txt 2>/dev/null; then
        install --require-hashes --requirement requirements/torch.txt
        install --require-hashes --requirement requirements/cuda.txt
    fi
fi
install --no-build-isolation --editable engine --editable plugins --editable .

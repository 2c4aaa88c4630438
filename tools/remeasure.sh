#!/usr/bin/env bash
# The whole job of measuring again, in three stages that can run on three machines, or one after the other:
#
#   remeasure.sh measure FOLDER [options of `python -m gpu_bench job`]   no network, no credentials
#   remeasure.sh check FOLDER                                            no rights, because measured data is not trusted
#   remeasure.sh propose FOLDER REMOTE                                   may push; runs git only
#   remeasure.sh all FOLDER REMOTE [options]
#
# It runs in the repository whose records it compares with. A stage that was cut off goes on when it is started again.
set -euo pipefail
code=$(cd "$(dirname "$0")/.." && pwd)
repository=$(git rev-parse --show-toplevel)
python=${PYTHON:-python3}
usage() { sed -n '4,7s/^# *//p' "$0" >&2; exit 2; }
bench() { (cd "$code" && exec "$python" -m gpu_bench "$@"); }

measure() {
    bench job --out "$folder/measured" --committed "$repository/gpu_bench/results" "$@"
    # Records that a killed process was still writing.
    find "$folder/measured/records" -type f -name '.*' -delete
}

check() {
    rm -rf "$folder/checked"
    mkdir -p "$folder/checked"
    bench admit "$folder/measured/records" --out "$folder/checked" --committed "$repository/gpu_bench/results"
}

propose() {
    local remote=$1 tree branch
    if [ ! -d "$folder/checked/proposal" ]; then
        echo "Nothing moved beyond noise on a device that is known: nothing to propose."
        return
    fi
    work=$(mktemp -d)
    git fetch --quiet --depth 1 "$remote" main
    git worktree add --quiet --detach "$work/tree" FETCH_HEAD
    trap 'git -C "$repository" worktree remove --force "$work/tree"; rm -rf "$work"' EXIT
    mkdir -p "$work/tree/gpu_bench/results"
    cp -R --no-dereference "$folder/checked/proposal/." "$work/tree/gpu_bench/results/"
    cd "$work/tree"
    git add --all
    # Check again what git would commit: regular files, not executable, with names of records, and nothing removed.
    if git diff --cached --raw --no-renames | grep -vE $'^:[0-7]+ 100644 [0-9a-f]+ [0-9a-f]+ [AM]\tgpu_bench/results/[a-z0-9-]+/[a-z0-9-]+--[a-z0-9-]+\\.json$'; then
        echo "propose: the lines above are no records, so nothing is pushed" >&2
        exit 1
    fi
    if git diff --cached --quiet; then
        echo "These records are committed already: nothing to propose."
        return
    fi
    tree=$(git write-tree)
    # Named by its content: the same proposal is not pushed twice.
    branch="gpu-bench/${tree:0:12}"
    if git ls-remote --exit-code "$remote" "refs/heads/$branch" >/dev/null; then
        echo "Proposed before, as $branch."
        return
    fi
    git -c user.name="github-actions[bot]" -c user.email="41898282+github-actions[bot]@users.noreply.github.com" \
        -c core.hooksPath=/dev/null commit --quiet --message "Add measurements of $(date -u +%Y-%m-%d)"
    git push --quiet "$remote" "HEAD:refs/heads/$branch"
    echo "$branch" >"$folder/branch"
    echo "Proposed as $branch."
}

stage=${1:-}
[ $# -ge 2 ] || usage
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
case $stage in
    measure) measure "$@" ;;
    check) [ $# -eq 0 ] || usage; check ;;
    propose) [ $# -eq 1 ] || usage; propose "$1" ;;
    all)
        [ $# -ge 1 ] || usage
        remote=$1
        shift
        measure "$@"
        check
        propose "$remote"
        ;;
    *) usage ;;
esac

#!/usr/bin/env bash
# Ends with 1 unless the workflow that runs is the one on main: its reference names main, and its file is main's to the byte.
#
#   refuse_other_workflow.sh WORKFLOW COMMIT REPOSITORY    as GITHUB_WORKFLOW_REF, _SHA and GITHUB_REPOSITORY say
#
# A branch can bring another copy of the workflow, which may leave this step out too. So it guards against a mistake; against
# somebody who may push branches, the settings of docs/authoring/runner.md do.
set -euo pipefail
[ $# -eq 3 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
workflow=$1 commit=$2 repository=$3
file=.github/workflows/gpu-bench.yml
if [ "$workflow" != "$repository/$file@refs/heads/main" ]; then
    echo "refused: the workflow is '$workflow'; allowed: '$repository/$file@refs/heads/main'" >&2
    exit 1
fi
git fetch --quiet origin main
mine=$(git rev-parse --verify --quiet "$commit:$file") || mine=none
mains=$(git rev-parse --verify --quiet "FETCH_HEAD:$file") || mains=none
if [ "$mine" != "$mains" ] || [ "$mine" = none ]; then
    echo "refused: $file at '$commit' is not the one on main" >&2
    exit 1
fi

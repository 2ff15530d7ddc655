#!/usr/bin/env bash
# Made the store and the texts beside it, with the program of release v0.1.0: make.sh PROGRAM FOLDER, the folder being empty.
# The machine's name was set to "example" before (unshare --uts), so that none is kept.
set -euo pipefail
program=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$2"
export PLIMSOLL_STORE="$PWD/runs.db" NO_COLOR=1 COLUMNS=110 HOME="$PWD"
lab() { echo "lab:azure-sql-db/$1@v12-ga-2015-01"; }
run() { "$program" run --quiet --json "$@" >/dev/null; }

for level in S0 S1 S2; do
    run read-scan --target "$(lab $level)" --set volume=256MiB --set tables=3 --campaign levels
    run cpu-join --target "$(lab $level)" --set rows=1000 --repetitions 2 --campaign levels
done
run insert --target "$(lab S2)" --set sessions=1,4 --set duration=6s --repetitions 2
run mix-b --target "$(lab S2)" --set rate=40,80 --set duration=5s --set volume=64MiB --repetitions 2 --no-samples
run write-chunk --target "$(lab S0)" --set volume=256MiB --set chunk=16MiB --no-samples
run memory --target "$(lab S0)" --set largest_set=1GiB --repetitions 1 --no-samples
for _ in 1 2 3 4 5 6 7; do
    run write-chunk --target "$(lab S1)" --set volume=128MiB --set chunk=32MiB --no-samples
done
# One that fails before it begins to measure, and one that is killed while it measures.
run read-scan --target "$(lab S2)" --set volume=16MiB || true
# Not by the function, as the process to kill would be a shell then.
"$program" run --quiet --json read-scan --target "$(lab S2)" --set volume=8GiB --set tables=8 --no-samples >/dev/null &
points="SELECT count(*) FROM point JOIN run USING (run_id) WHERE ended_at IS NULL"
until [[ $(sqlite3 runs.db "$points") -gt 10 ]]; do sleep 0.01; done
kill -9 $!
wait || true
sqlite3 runs.db 'PRAGMA wal_checkpoint(TRUNCATE)'

mapfile -t ids < <("$program" runs --json | grep -o '"run_id":"[^"]*"' | cut -d'"' -f4 | sort)
while IFS= read -r line; do
    name=${line%%:*} arguments=()
    for word in ${line#*: }; do
        if [[ $word == @* ]]; then arguments+=("${ids[${word#@}]}"); else arguments+=("$word"); fi
    done
    "$program" "${arguments[@]}" >"$name" || true
done < <(grep -v '^#' "$here/commands.txt")
mkdir lab
while IFS= read -r line; do
    # shellcheck disable=SC2086
    "$program" run --json --quiet --store other.db ${line#*: } >"lab/${line%%:*}"
done < <(grep -v '^#' "$here/../lab/lab.txt")
rm -f other.db* ./*.db-*

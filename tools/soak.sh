#!/bin/sh
# Run the suite RUNS times, beside BUSY processes that only compute, once for each folder
# of packages named (each comes before others of its name); the output of failed runs
# stays in build/soak. The status is 1 if any run failed.
#     tools/soak.sh RUNS BUSY [BUILD...]
runs=${1:-20} busy=${2:-0} failed=0
shift $(($# < 2 ? $# : 2))
mkdir -p build/soak
trap 'kill $loops 2>/dev/null' EXIT
for _ in $(seq "$busy"); do (while :; do :; done) & loops="$loops $!"; done
for build in "${@:-}"; do
  for run in $(seq "$runs"); do
    log=build/soak/$(basename "${build:-suite}")-$run.log
    began=$(date +%s)
    if PYTHONPATH=${build:+$PWD/$build${PYTHONPATH:+:}}$PYTHONPATH ${SUITE:-make --silent test} > "$log" 2>&1
    then said=passed; rm "$log"
    else said="FAILED, see $log"; failed=1; grep -E '^(FAILED|ERROR) ' "$log"
    fi
    echo "$build $run of $runs  $(($(date +%s) - began)) s  $said"
  done
done
exit $failed

#!/bin/bash
# Joins the shard files of slurm-array.sh or kubernetes-job.yaml into the case. Order does not matter, repeating it is harmless.
set -euo pipefail
: "${CASE:?path of the case file}" "${OUT:?folder with the shard files}"
shopt -s nullglob
shards=("$OUT"/shard-*.difr)
[ "${#shards[@]}" -gt 0 ] || { echo "no shard-*.difr in $OUT" >&2; exit 3; }
"${DIFR_AUDIT:-difr-audit}" merge --case "$CASE" "${shards[@]}"
exec "${DIFR_AUDIT:-difr-audit}" verify-case --case "$CASE"

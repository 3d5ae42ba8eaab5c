#!/bin/bash
# Recomputes a case on many machines: one array task per shard, each into its own file; merge-shards.sh joins them.
#
#   export CASE=/shared/audit.difr MODEL=/shared/weights OUT=/shared/shards
#   jobid=$(sbatch --parsable --array=1-16 slurm-array.sh)
#   sbatch --dependency=afterok:$jobid --wrap "packaging/cluster/merge-shards.sh"
#
# A task that is killed, preempted or requeued goes on where it stopped: at most the batch in flight is lost. Running a
# task twice stores nothing twice.
#SBATCH --job-name=difr-recompute
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --output=difr-%A_%a.log
# For GPUs: #SBATCH --gpus-per-task=1, and DEVICE=cuda DTYPE=bf16 in the environment.
set -euo pipefail

: "${CASE:?path of the case file}" "${MODEL:?folder or .gguf of the trusted weights}" "${OUT:?folder for the shard files}"
: "${SLURM_ARRAY_TASK_ID:?start this with sbatch --array=1-N}"
shards=${SLURM_ARRAY_TASK_COUNT:?}
mkdir -p "$OUT"

# exec: Slurm's signal reaches the worker itself, which stores its batch and ends.
exec "${DIFR_AUDIT:-difr-audit}" recompute \
  --case "$CASE" --model "$MODEL" \
  --shard "$SLURM_ARRAY_TASK_ID/$shards" --out "$OUT/shard-$SLURM_ARRAY_TASK_ID-of-$shards.difr" \
  --dtype "${DTYPE:-fp32}" --device "${DEVICE:-cpu}" --threads "${SLURM_CPUS_PER_TASK:-0}"

#!/usr/bin/env bash
# Train what the files of results in a folder do not have yet, for the page docs/benchmarks.md, on one GPU:
#
#     cp benchmarks/results/{hard_exploration,craftax_tasks,locomotion,water_world}.jsonl FOLDER    # those there are
#     bash benchmarks/on_device.sh FOLDER [MINUTES]
#
# Jobs share the GPU, through NVIDIA's multi-process service where it is installed. After so many minutes, or with
# Ctrl-C, everything ends. Jobs that have ended by then keep their results. Others go on from checkpoints in the folder,
# of up to 800 MB for a method of Water World; locomotion, with Brax's trainer, begins its job again.
set -u
out=$1
until=$(($(date +%s) + 60 * ${2:-10000}))
cd "$(dirname "$0")/.."
mkdir -p "$out"

if command -v nvidia-cuda-mps-control > /dev/null; then
    export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d || true
fi

script() { # name, then options: run a script with its file of results and a log
    local name=$1 minutes
    shift
    minutes=$(python3 -c "import time; print(($until - time.time()) / 60)")
    python3 "benchmarks/$name.py" --out "$out/$name.jsonl" --minutes "$minutes" "$@" >> "$out/$name.log" 2>&1
}

# Water World waits for the memory, and the others compute.
(
    script water_world --methods 0 1 --maps 1 2 3 4 --workers 2
    script water_world --methods 2 3 4 --maps 1 2 3 4 --workers 3
) &
script hard_exploration --stage tuning --workers 3
script hard_exploration --stage main --workers 3
script craftax_tasks --workers 3
script hard_exploration --stage corridor --seeds 5 --steps 30000000 --only S6R3 --workers 3
script hard_exploration --stage ablation --workers 3
script locomotion --workers 3
script hard_exploration --stage corridor --seeds 5 --steps 30000000 --workers 3
wait

#!/bin/sh
# Two nodes with 8 GPUs each, one worker for each GPU.
# Submit the script with: sbatch scripts/sbatch/train.sh train.jar --epochs 3
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=1:00:00
#SBATCH --output=%x-%j.out

# jrun reads nodes and workers from the allocation. 'jrun --dry-run ...' in this script shows the result.
exec "${JRUN:-jrun}" "$@"

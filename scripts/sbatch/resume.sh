#!/bin/sh
# A long training in pieces. Two minutes before the time limit workers are asked for a checkpoint (SIGUSR1), which
# World.checkpointRequested() tells them; Slurm starts the job again when the limit or a lost node has ended it, and the
# program goes on from its checkpoint. Submit it with: sbatch scripts/sbatch/resume.sh train.jar --checkpoint DIR
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=4:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# SLURM_RESTART_COUNT is set from the second start on.
[ -z "${SLURM_RESTART_COUNT:-}" ] || set -- "$@" --resume
exec "${JRUN:-jrun}" "$@"

#!/bin/sh
# A long training in several parts. Two minutes before the time limit Slurm sends SIGUSR1, and
# World.checkpointRequested() becomes true in the workers. When the time limit or a lost node has ended the job, Slurm
# starts the job again, and the program continues from its checkpoint. Submit the script with: sbatch
# scripts/sbatch/resume.sh train.jar --checkpoint DIR
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=4:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# Slurm sets SLURM_RESTART_COUNT from the second start on.
[ -z "${SLURM_RESTART_COUNT:-}" ] || set -- "$@" --resume
exec "${JRUN:-jrun}" "$@"

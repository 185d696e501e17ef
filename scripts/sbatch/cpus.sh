#!/bin/sh
# Without GPUs: one worker for every 4 CPUs of a node, bound to these CPUs.
# Submit the script with: sbatch scripts/sbatch/cpus.sh train.jar
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --mem=12G
#SBATCH --time=1:00:00
#SBATCH --output=%x-%j.out

exec "${JRUN:-jrun}" --bind-to core "$@"

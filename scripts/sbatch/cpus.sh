#!/bin/sh
# Without GPUs: a worker for each 4 of a node's CPUs, bound to them. Submit it with: sbatch scripts/sbatch/cpus.sh train.jar
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --mem=12G
#SBATCH --time=1:00:00
#SBATCH --output=%x-%j.out

exec "${JRUN:-jrun}" --bind-to core "$@"

/* MPI's all-reduce of floats from C, in the manner of the OSU micro-benchmarks: the check on what the mpi backend adds to MPI.
 * Usage: mpirun -n 2 mpi_allreduce REPEATS BYTES...    prints "bytes medianMicros" per size, the slowest rank's */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int repeats = argc > 1 ? atoi(argv[1]) : 0;
    double *times = calloc(repeats + 1, sizeof(double));
    for (int a = 2; a < argc; a++) {
        size_t bytes = strtoull(argv[a], NULL, 10);
        int count = bytes / sizeof(float), batch = bytes <= 16384 ? 200 : 1;
        float *data = calloc(count, sizeof(float));
        for (int r = -3; r < repeats; r++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            for (int b = 0; b < batch; b++) {
                MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            }
            times[r < 0 ? 0 : r] = (MPI_Wtime() - start) / batch;
        }
        MPI_Allreduce(MPI_IN_PLACE, times, repeats, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        qsort(times, repeats, sizeof(double), ascending);
        if (rank == 0) {
            printf("%zu %.3f\n", bytes, times[repeats / 2] * 1e6);
            fflush(stdout);
        }
        free(data);
    }
    MPI_Finalize();
    return 0;
}

/* Measures the memory ceiling of a collective of two processes, between two spinning barriers. allreduce: each process adds
 * its half of two shared float arrays and writes the sum to both arrays (x = y = x + y). broadcast: each process copies its
 * half of one array to the other array. alltoall: each process copies its half of both inputs to its own output.
 * Prints "bytes medianMicros GBps" for each size.
 * Usage: ceiling allreduce|broadcast|alltoall REPEATS BYTES... */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic long *arrived;

static void barrier(int rank, long turn) {
    atomic_store_explicit(&arrived[rank * 16], turn, memory_order_release);
    while (atomic_load_explicit(&arrived[(1 - rank) * 16], memory_order_acquire) < turn) {
        __builtin_ia32_pause();
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("ceiling: mmap");
        exit(1);
    }
    return p;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: ceiling allreduce|broadcast|alltoall REPEATS BYTES...\n");
        return 2;
    }
    int broadcasts = strcmp(argv[1], "broadcast") == 0, exchanges = strcmp(argv[1], "alltoall") == 0;
    int repeats = atoi(argv[2]);
    size_t largest = 0;
    for (int i = 3; i < argc; i++) {
        size_t bytes = strtoull(argv[i], NULL, 10);
        largest = bytes > largest ? bytes : largest;
    }
    arrived = shared(4096);
    float *x = shared(largest), *y = shared(largest), *outputs[] = {shared(largest), shared(largest)};
    double *times = calloc(repeats, sizeof(double));
    int rank = fork() == 0 ? 1 : 0;
    long turn = 0;
    for (size_t i = 0; i < largest / 4; i++) { /* each process touches one array, as ranks do */
        (rank ? y : x)[i] = 0;
        outputs[rank][i] = 0;
    }
    for (int a = 3; a < argc; a++) {
        size_t bytes = strtoull(argv[a], NULL, 10), count = bytes / 4, half = count / 2;
        size_t from = rank ? half : 0, to = rank ? count : half;
        for (int r = -3; r < repeats; r++) {
            barrier(rank, ++turn);
            double start = now();
            if (broadcasts) {
                memcpy(y + from, x + from, (to - from) * 4);
            } else if (exchanges) {
                memcpy(outputs[rank], x + from, (to - from) * 4);
                memcpy(outputs[rank] + half, y + from, (to - from) * 4);
            } else {
                for (size_t i = from; i < to; i++) {
                    float sum = x[i] + y[i];
                    x[i] = sum;
                    y[i] = sum;
                }
            }
            barrier(rank, ++turn);
            if (r >= 0) {
                times[r] = now() - start;
            }
        }
        qsort(times, repeats, sizeof(double), ascending);
        if (rank == 0) {
            printf("%zu %.3f %.3f\n", bytes, times[repeats / 2] / 1e3, bytes / times[repeats / 2]);
            fflush(stdout);
        }
    }
    if (rank == 1) {
        _exit(0);
    }
    wait(NULL);
    return 0;
}

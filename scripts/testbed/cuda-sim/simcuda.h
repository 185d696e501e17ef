// The functions of the simulated CUDA runtime that the simulated NCCL uses. Tests call the first functions too.
#ifndef SIMCUDA_H
#define SIMCUDA_H
#include <stddef.h>

// Queues a pause of a stream, in place of a kernel that runs for this time. Returns a CUDA error.
int simcuda_delay(void *stream, long micros);

// Queues a pause of a stream until the next simcuda_release. Returns a CUDA error.
int simcuda_hold(void *stream);

// Ends all pauses of simcuda_hold.
int simcuda_release(void);

// Changes a setting of this process: the name and the value of an environment variable of scripts/testbed/cuda.
int simcuda_set(const char *name, const char *value);

// The bytes of device memory that this process holds now, on all devices.
long simcuda_allocated(void);

// Where this process can read and write n bytes at p: the mapping of device memory, or p itself for memory of the host.
// NULL if the bytes are not inside one allocation; the device then has failed as after an illegal access.
void *simcuda_host(const void *p, size_t n);

// Queues work on a stream. Returns a CUDA error.
int simcuda_enqueue(void *stream, void (*run)(void *), void *argument);

// Whether an operation has to run later, because SIMCUDA_LATE is set and no thread of the program waits.
int simcuda_isLate(void);

// The number of the device among all devices of the machine, whatever CUDA_VISIBLE_DEVICES shows.
int simcuda_physical(int device);

// The error that SIMCUDA_FAIL orders for this call of a function; 0: none.
int simcuda_failure(const char *function);

// The value of a setting as a number.
long simcuda_number(const char *name, long otherwise);

// Appends a line to the log.
void simcuda_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

// A libcufile without a GPU, for tests: reads real files into simulated device memory. scripts/testbed/cuda describes the
// settings. The rules of the real library are errors here: a file is open with O_DIRECT, memory and files are registered,
// and a read of whole blocks is aligned.
#define _GNU_SOURCE
#include "simcuda.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { SUCCESS, NOT_INITIALIZED = 5001, INVALID_FLAG = 5020, INVALID_VALUE = 5022, ALREADY_REGISTERED = 5023,
       NOT_REGISTERED = 5024, ALREADY_OPEN = 5026, HANDLE_NOT_REGISTERED = 5027, CUDA_ERROR = 5011 };
#define BLOCK 4096l
#define MOST 4096

typedef struct { int code, cuda; } Error;
typedef struct { int type; union { int descriptor; void *handle; } of; const void *operations; } Description;
typedef struct {
    unsigned major, minor;
    size_t pollThreshold, mostDirect;
    unsigned statusFlags, controlFlags, features, cache, bufferCache, pinned, batch, timeout;
} Properties;
typedef struct { int descriptor, isOpen; } File;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int isDriverOpen;
static File files[MOST];
static int fileCount;
static struct { const char *start; size_t bytes; } buffers[64];

static Error error(int code) { return (Error) {code, code == CUDA_ERROR ? 700 : 0}; }
#define ENTER(needsDriver) do { \
    int code_ = simcuda_failure(__func__); \
    if (!code_ && (needsDriver) && !isDriverOpen) code_ = NOT_INITIALIZED; \
    if (code_) return error(code_); \
} while (0)

Error cuFileDriverOpen(void) {
    ENTER(0);
    simcuda_log("cuFileDriverOpen");
    if (isDriverOpen) return error(ALREADY_OPEN);
    isDriverOpen = 1;
    return error(SUCCESS);
}

Error cuFileDriverClose(void) {
    ENTER(1);
    simcuda_log("cuFileDriverClose");
    isDriverOpen = 0;
    return error(SUCCESS);
}

Error cuFileDriverGetProperties(Properties *found) {
    ENTER(1);
    memset(found, 0, sizeof *found);
    found->major = simcuda_number("SIMCUFILE_NVFS", 2);
    found->statusFlags = simcuda_number("SIMCUFILE_STATUS", 0);
    return error(SUCCESS);
}

Error cuFileHandleRegister(void **handle, Description *description) {
    ENTER(1);
    if (description->type != 1) return error(INVALID_VALUE);
    int flags = fcntl(description->of.descriptor, F_GETFL);
    if (flags < 0 || !(flags & O_DIRECT)) return error(INVALID_FLAG);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < fileCount && files[i].isOpen) i++;
    if (i == fileCount && fileCount < MOST) fileCount++;
    files[i] = (File) {description->of.descriptor, 1};
    pthread_mutex_unlock(&lock);
    *handle = &files[i];
    simcuda_log("cuFileHandleRegister %p", *handle);
    return error(SUCCESS);
}

void cuFileHandleDeregister(void *handle) {
    simcuda_log("cuFileHandleDeregister %p", handle);
    pthread_mutex_lock(&lock);
    ((File *) handle)->isOpen = 0;
    pthread_mutex_unlock(&lock);
}

Error cuFileBufRegister(const void *start, size_t bytes, int flags) {
    ENTER(1);
    (void) flags;
    if (!simcuda_host(start, bytes)) return error(INVALID_VALUE);
    int code = INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 64 && code == INVALID_VALUE; i++) {
        if (buffers[i].start == start) code = ALREADY_REGISTERED;
        if (buffers[i].start) continue;
        buffers[i].start = start;
        buffers[i].bytes = bytes;
        code = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    simcuda_log("cuFileBufRegister %zu bytes at %p", bytes, start);
    return error(code);
}

Error cuFileBufDeregister(const void *start) {
    ENTER(1);
    simcuda_log("cuFileBufDeregister %p", start);
    int code = NOT_REGISTERED;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 64 && code; i++) {
        if (buffers[i].start != start) continue;
        buffers[i].start = NULL;
        code = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error(code);
}

static int isRegistered(const char *start, size_t bytes, off_t offset) {
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 64; i++)
        found |= buffers[i].start == start && bytes + (size_t) offset <= buffers[i].bytes;
    pthread_mutex_unlock(&lock);
    return found;
}

ssize_t cuFileRead(void *handle, void *start, size_t bytes, off_t position, off_t offset) {
    simcuda_log("cuFileRead %zu bytes from %ld on to %p + %ld", bytes, (long) position, start, (long) offset);
    int code = simcuda_failure(__func__);
    if (code) return -code;
    errno = simcuda_failure("cuFileRead.errno");
    if (errno) return -1;
    File *file = handle;
    if (!file->isOpen) return -HANDLE_NOT_REGISTERED;
    if (!isRegistered(start, bytes, offset)) return -NOT_REGISTERED;
    if (position % BLOCK || offset % BLOCK || bytes % BLOCK) return -INVALID_VALUE;
    ssize_t most = simcuda_number("SIMCUFILE_MOST_BYTES", (long) bytes);
    if (bytes > (size_t) most) bytes = (most + BLOCK - 1) / BLOCK * BLOCK;
    char *staged = aligned_alloc(BLOCK, bytes); // O_DIRECT needs an aligned address of the host
    ssize_t count = pread(file->descriptor, staged, bytes, position);
    if (count > most) count = most;
    char *to = count > 0 ? simcuda_host((char *) start + offset, count) : NULL;
    if (to) memcpy(to, staged, count);
    free(staged);
    return count < 0 || to ? count : count == 0 ? 0 : -CUDA_ERROR;
}

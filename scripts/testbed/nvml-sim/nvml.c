/* NVML without a GPU, for tests: see scripts/testbed/nvml. The signatures and numbers are those of nvml.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, UNKNOWN = 999 };
enum { MOST = 16, SLICES = 2 };
typedef struct {
    int gpu, slice; /* slice -1: the whole GPU */
} device;

static device gpus[MOST], slices[MOST][SLICES];
static pthread_mutex_t settings = PTHREAD_MUTEX_INITIALIZER;
static int users;

/* Sets a variable of scripts/testbed/nvml in this process. */
int simnvml_set(const char *name, const char *value) {
    pthread_mutex_lock(&settings);
    int code = setenv(name, value, 1);
    pthread_mutex_unlock(&settings);
    return code;
}

/* The number of nvmlInit_v2 without an nvmlShutdown. */
int simnvml_users(void) { return users; }

static int number(const char *name, int standard) {
    pthread_mutex_lock(&settings);
    const char *text = getenv(name);
    int value = text && *text ? atoi(text) : standard;
    pthread_mutex_unlock(&settings);
    return value;
}

/* The code that a function must return, or OK. A function that must hang does not return. */
static int begin(const char *function) {
    char text[256] = "", *rest = text;
    pthread_mutex_lock(&settings);
    const char *fail = getenv("SIMNVML_FAIL"), *hang = getenv("SIMNVML_HANG");
    int hangs = hang && !strcmp(hang, function);
    if (fail) snprintf(text, sizeof text, "%s", fail);
    pthread_mutex_unlock(&settings);
    while (hangs) pause();
    for (char *word; (word = strsep(&rest, ","));) {
        char *code = strchr(word, '=');
        if (code && strlen(function) == (size_t)(code - word) && !strncmp(word, function, code - word)) return atoi(code + 1);
    }
    return OK;
}
#define BEGIN do { int code_ = begin(__func__); if (code_) return code_; } while (0)
#define WHOLE(d) do { if ((d)->slice >= 0) return NOT_SUPPORTED; } while (0)

static int put(char *buffer, unsigned size, const char *text) {
    return snprintf(buffer, size, "%s", text) < (int)size ? OK : 7;
}

int nvmlInit_v2(void) {
    BEGIN;
    for (int i = 0; i < MOST; i++) {
        gpus[i] = (device){i, -1};
        for (int j = 0; j < SLICES; j++) slices[i][j] = (device){i, j};
    }
    __atomic_add_fetch(&users, 1, __ATOMIC_SEQ_CST);
    return OK;
}
int nvmlShutdown(void) { BEGIN; __atomic_sub_fetch(&users, 1, __ATOMIC_SEQ_CST); return OK; }
const char *nvmlErrorString(int code) {
    return code == 9 ? "Driver Not Loaded" : code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { BEGIN; return put(text, size, "580.65.06"); }
int nvmlDeviceGetCount_v2(unsigned *count) { BEGIN; *count = number("SIMNVML_DEVICES", 2); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **found) {
    BEGIN;
    if ((int)index >= number("SIMNVML_DEVICES", 2)) return INVALID_ARGUMENT;
    if ((int)index == number("SIMNVML_HIDDEN", -1)) return NO_PERMISSION;
    *found = &gpus[index];
    return OK;
}
int nvmlDeviceGetName(device *d, char *text, unsigned size) {
    BEGIN;
    return put(text, size, d->slice < 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H100 80GB HBM3 MIG 3g.40gb");
}
int nvmlDeviceGetUUID(device *d, char *text, unsigned size) {
    BEGIN;
    char uuid[64];
    snprintf(uuid, sizeof uuid, d->slice < 0 ? "GPU-%08x-1111-2222-3333-444444444444" : "MIG-%08x-%04x-5555-6666-777777777777",
        0xa0000000u + d->gpu, d->slice);
    return put(text, size, uuid);
}
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char busId[32]; };
int nvmlDeviceGetPciInfo_v3(device *d, struct pci *info) {
    BEGIN;
    WHOLE(d);
    *info = (struct pci){.bus = 0x1b + d->gpu};
    snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0", info->bus);
    return OK;
}
struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(device *d, struct memory *memory) {
    BEGIN;
    unsigned long long gibibyte = 1ull << 30;
    memory->total = (d->slice < 0 ? 80 : 40) * gibibyte;
    memory->used = (d->gpu + 1) * gibibyte;
    memory->free = memory->total - memory->used;
    return OK;
}
int nvmlDeviceGetUtilizationRates(device *d, unsigned rates[2]) {
    BEGIN;
    WHOLE(d);
    rates[0] = 90 + d->gpu;
    rates[1] = 50;
    return OK;
}
int nvmlDeviceGetTemperature(device *d, int sensor, unsigned *celsius) {
    BEGIN;
    if (sensor) return INVALID_ARGUMENT;
    WHOLE(d);
    *celsius = 40 + d->gpu;
    return OK;
}
int nvmlDeviceGetPowerUsage(device *d, unsigned *milliwatts) { BEGIN; WHOLE(d); *milliwatts = 350500; return OK; }
int nvmlDeviceGetPersistenceMode(device *d, int *mode) { BEGIN; WHOLE(d); *mode = d->gpu == 0; return OK; }
int nvmlDeviceGetMigMode(device *d, unsigned *current, unsigned *pending) {
    BEGIN;
    WHOLE(d);
    *current = *pending = d->gpu == number("SIMNVML_MIG", -1);
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned *count) { BEGIN; WHOLE(d); *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned index, device **found) {
    BEGIN;
    if (index >= SLICES) return 6; /* not found */
    *found = &slices[d->gpu][index];
    return OK;
}
int nvmlDeviceGetP2PStatus(device *a, device *b, int capability, int *status) {
    BEGIN;
    *status = capability == 2 && a->gpu / 2 == b->gpu / 2 ? 0 : 5;
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(device *a, device *b, int *level) {
    BEGIN;
    int half = (number("SIMNVML_DEVICES", 2) + 1) / 2;
    *level = a->gpu / 2 == b->gpu / 2 ? 20 : a->gpu / half == b->gpu / half ? 40 : 50; /* 40: one NUMA node */
    return OK;
}

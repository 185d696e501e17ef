// A CUDA runtime without a GPU, for tests. scripts/testbed/cuda describes the settings.
//
// Device memory: an address of device memory lies in a range that nobody can read or write, so that the host cannot use
// it by mistake. The functions of CUDA and NCCL use a second range of the same size. New memory holds 0xA5 in each byte.
// Streams: each stream is a thread that runs its work in order. A blocking stream is the default stream of its device.
// Faults: an access outside of an allocation, or of freed memory, makes every later call fail with 700.
#define _GNU_SOURCE
#include "simcuda.h"
#include <pthread.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DIRECTION = 21, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_HANDLE = 400, ILLEGAL_STATE = 401, NOT_READY = 600, ILLEGAL_ADDRESS = 700, CAPTURE_UNSUPPORTED = 900,
       CAPTURE_INVALIDATED = 901, CAPTURE_ISOLATION = 905, CAPTURED_EVENT = 907, CAPTURE_WRONG_THREAD = 908 };
enum { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3, BY_ADDRESS = 4 };
#define MAX_DEVICES 16
#define SPACE (1ul << 34)
#define PAGE 4096ul
#define MAX_HANDLES (1 << 20)

typedef struct Op { void (*run)(void *); void *argument; struct Op *next; } Op;
typedef struct Node { void (*run)(void *); void *argument; size_t bytes; struct Node *next; } Node; // recorded work
typedef struct { Node *first, *last; long count; } Graph;
typedef struct Stream {
    int device, isRunning, isClosed;
    Op *first, *last;
    long queued, done;
    struct Stream *next;
    Graph *graph; // while the stream is captured, else NULL
    int isInvalid, mode;
    pthread_t capturer;
    unsigned long long captureId;
} Stream;
typedef struct { int references, isDone, isCaptured; double seconds; } Mark; // one record of an event
typedef struct { int device; Mark *mark; } Event;
typedef struct Block { char *start; size_t bytes; struct Block *next; } Block; // in the order of addresses
typedef struct { int type, device; void *onDevice, *onHost; long reserved[8]; } Attributes;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
// Streams and events. A handle is an index plus FIRST_HANDLE, and is not used again.
static struct { enum { NONE, STREAM, EVENT } kind; void *object; } handles[MAX_HANDLES];
static const long FIRST_HANDLE = 0x100;
static long made;
static Stream *streams; // all but the default streams, until their last work has run
static char *deviceRange, *hostRange; // MAX_DEVICES times SPACE bytes each
static Block *blocks[MAX_DEVICES], *pinned;
static size_t held[MAX_DEVICES];
static int fault[MAX_DEVICES], hasContext[MAX_DEVICES];
static Stream defaults[MAX_DEVICES];
static __thread int current, isStreamThread;
static int waiting; // the threads of the program that wait for a stream or an event

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }

// --- settings, log, failures ----------------------------------------------------------------------------------------------

static struct { char name[64], value[256]; } settings[32];
static int settingCount;

int simcuda_set(const char *name, const char *value) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < settingCount && strcmp(settings[i].name, name)) i++;
    if (i == settingCount && i < 31) settingCount++;
    snprintf(settings[i].name, sizeof settings[i].name, "%s", name);
    snprintf(settings[i].value, sizeof settings[i].value, "%s", value);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static const char *setting(const char *name) {
    for (int i = 0; i < settingCount; i++) if (!strcmp(settings[i].name, name)) return settings[i].value;
    return getenv(name);
}

long simcuda_number(const char *name, long otherwise) {
    const char *value = setting(name);
    return value && *value ? atol(value) : otherwise;
}

void simcuda_log(const char *format, ...) {
    static int file = -2;
    if (file == -1) return;
    if (file == -2) {
        const char *name = setting("SIMCUDA_LOG");
        int opened = name && *name ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
        file = opened;
        if (opened < 0) return;
    }
    char line[512], thread[17] = "";
    prctl(PR_GET_NAME, thread);
    int n = snprintf(line, sizeof line, "%d\t%d\t%s\t%d\t", getpid(), gettid(), thread, current);
    va_list values;
    va_start(values, format);
    n += vsnprintf(line + n, sizeof line - n - 1, format, values);
    va_end(values);
    if (n > (int) sizeof line - 2) n = sizeof line - 2;
    line[n++] = '\n';
    ssize_t written = write(file, line, n);
    (void) written;
}

// SIMCUDA_FAIL=FUNCTION=CODE[@CALL],...: the call with this number, from 1, fails; without a number every call.
int simcuda_failure(const char *function) {
    static struct { char name[64]; int calls; } counts[32];
    const char *orders = setting("SIMCUDA_FAIL");
    size_t length = strlen(function);
    for (const char *at = orders; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, function, length) || at[length] != '=') continue;
        char *end;
        int code = strtol(at + length + 1, &end, 10);
        if (*end != '@') return code;
        pthread_mutex_lock(&lock);
        int i = 0;
        while (i < 31 && counts[i].name[0] && strcmp(counts[i].name, function)) i++;
        snprintf(counts[i].name, sizeof counts[i].name, "%s", function);
        int call = ++counts[i].calls;
        pthread_mutex_unlock(&lock);
        if (call == atoi(end + 1)) return code;
    }
    return 0;
}

// --- devices --------------------------------------------------------------------------------------------------------------

static int visible[MAX_DEVICES], visibleCount;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
    int all = simcuda_number("SIMCUDA_DEVICES", 2);
    if (all > MAX_DEVICES) all = MAX_DEVICES;
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    if (!chosen) {
        for (int i = 0; i < all; i++) visible[visibleCount++] = i;
    } else {
        // A name such as GPU-0000-3 ends with the number of the device.
        for (const char *at = chosen; at && *at && visibleCount < MAX_DEVICES;
             at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            const char *end = at + strcspn(at, ","), *digits = end;
            while (digits > at && digits[-1] >= '0' && digits[-1] <= '9') digits--;
            int number = digits == end || at[0] == '-' ? -1 : atoi(digits);
            if (number < 0 || number >= all) break;
            visible[visibleCount++] = number;
        }
    }
    int access[] = {PROT_NONE, PROT_READ | PROT_WRITE};
    char **ranges[] = {&deviceRange, &hostRange};
    for (int i = 0; i < 2; i++) {
        *ranges[i] = mmap(NULL, MAX_DEVICES * SPACE, access[i], MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (*ranges[i] == MAP_FAILED) { perror("simulated CUDA: mmap"); abort(); }
    }
    for (int i = 0; i < MAX_DEVICES; i++) defaults[i].device = i;
}

int simcuda_physical(int device) { pthread_once(&once, start); return visible[device]; }

// Begins a call that uses the current device.
static int enter(const char *function) {
    pthread_once(&once, start);
    if (!visibleCount) return NO_DEVICE;
    int code = simcuda_failure(function);
    if (code) return code;
    if (!__atomic_exchange_n(&hasContext[current], 1, __ATOMIC_RELAXED)) simcuda_log("context on device %d", current);
    return fault[current];
}

// As with the runtime, the thread has the code of its last failure until it asks. libtorch asks after each kernel.
static __thread int lastError;
static int failed(int code) {
    if (code) lastError = code;
    return code;
}
#define ENTER() do { int code_ = enter(__func__); if (code_) return failed(code_); } while (0)

int cudaGetDeviceCount(int *count) {
    pthread_once(&once, start);
    int code = simcuda_failure(__func__);
    *count = visibleCount;
    return failed(code ? code : visibleCount ? SUCCESS : NO_DEVICE);
}
int cudaSetDevice(int device) {
    pthread_once(&once, start);
    int code = simcuda_failure(__func__);
    if (code) return code;
    if (device < 0 || device >= visibleCount) return INVALID_DEVICE;
    current = device;
    return SUCCESS;
}
int cudaGetDevice(int *device) { *device = current; return SUCCESS; }
int cudaGetLastError(void) {
    int code = lastError;
    lastError = SUCCESS;
    return code;
}
int cudaPeekAtLastError(void) { return lastError; }
int cudaRuntimeGetVersion(int *version) { *version = 13000; return SUCCESS; }
int cudaDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
const char *cudaGetErrorName(int code) { return code ? "cudaErrorSimulated" : "cudaSuccess"; }
const char *cudaGetErrorString(int code) { return code ? "a simulated error" : "no error"; }
int cudaDeviceGetPCIBusId(char *id, int length, int device) {
    pthread_once(&once, start);
    if (device < 0 || device >= visibleCount) return INVALID_DEVICE;
    snprintf(id, length, "0000:%02X:00.0", visible[device] + 1);
    return SUCCESS;
}
int cudaDeviceGetAttribute(int *value, int attribute, int device) {
    pthread_once(&once, start);
    if (device < 0 || device >= visibleCount) return INVALID_DEVICE;
    *value = attribute == 75 ? 9 : attribute == 16 ? 132 : 0; // compute capability 9.0, 132 multiprocessors
    return SUCCESS;
}

// --- streams --------------------------------------------------------------------------------------------------------------

static void *newHandle(int kind, void *object) { // with the lock
    if (made == MAX_HANDLES) { fprintf(stderr, "simulated CUDA: too many streams and events\n"); abort(); }
    handles[made].kind = kind;
    handles[made].object = object;
    return (void *) (FIRST_HANDLE + made++);
}

static void *ofHandle(int kind, void *handle) { // with the lock
    long index = (long) handle - FIRST_HANDLE;
    return index >= 0 && index < made && handles[index].kind == (unsigned) kind ? handles[index].object : NULL;
}

static void dropHandle(void *handle) { handles[(long) handle - FIRST_HANDLE].kind = NONE; }

// The default stream of the current device has the handles 0, 1 and 2; unknown handles have no stream.
static Stream *streamOf(void *handle) {
    return (unsigned long) handle <= 2 ? &defaults[current] : ofHandle(STREAM, handle);
}

int simcuda_isLate(void) { return simcuda_number("SIMCUDA_LATE", 0) && !__atomic_load_n(&waiting, __ATOMIC_RELAXED); }

// A thread begins or ends to wait for a stream or an event.
static void noteWait(int change) { if (!isStreamThread) __atomic_fetch_add(&waiting, change, __ATOMIC_RELAXED); }

static void *runStream(void *argument) {
    Stream *stream = argument;
    prctl(PR_SET_NAME, "cuda stream");
    current = stream->device;
    isStreamThread = 1;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!stream->first && !stream->isClosed) pthread_cond_wait(&changed, &lock);
        Op *op = stream->first;
        if (!op) break;
        pthread_mutex_unlock(&lock);
        op->run(op->argument);
        pthread_mutex_lock(&lock);
        stream->first = op->next;
        if (!stream->first) stream->last = NULL;
        stream->done++;
        free(op);
        pthread_cond_broadcast(&changed);
    }
    Stream **place = &streams;
    while (*place != stream) place = &(*place)->next;
    *place = stream->next;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    free(stream);
    return NULL;
}

static void startStream(Stream *stream) { // with the lock
    if (stream->isRunning) return;
    stream->isRunning = 1;
    pthread_t thread;
    pthread_create(&thread, NULL, runStream, stream);
    pthread_detach(thread);
}

// Queues work; with the lock.
static void push(Stream *stream, void (*run)(void *), void *argument) {
    int isDefault = stream == &defaults[stream->device];
    if (simcuda_number("SIMCUDA_INLINE", 0) || (isDefault && simcuda_number("SIMCUDA_LATE", 0))) {
        pthread_mutex_unlock(&lock);
        run(argument);
        pthread_mutex_lock(&lock);
        return;
    }
    Op *op = malloc(sizeof *op);
    *op = (Op) {run, argument, NULL};
    if (stream->last) stream->last->next = op; else stream->first = op;
    stream->last = op;
    stream->queued++;
    startStream(stream);
    pthread_cond_broadcast(&changed);
}

static void finish(Stream *stream) { // with the lock
    long end = stream->queued;
    noteWait(1);
    while (stream->done < end) pthread_cond_wait(&changed, &lock);
    noteWait(-1);
}

int simcuda_enqueue(void *handle, void (*run)(void *), void *argument) {
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int code = !stream ? INVALID_HANDLE : stream->graph ? CAPTURE_UNSUPPORTED : SUCCESS;
    if (!code) push(stream, run, argument);
    else if (stream) stream->isInvalid = 1; // the captures of this simulation record copies only
    pthread_mutex_unlock(&lock);
    return code;
}

// --- stream capture ---------------------------------------------------------------------------------------------------------

static unsigned long long captures;

// The call must not be made while a stream is captured: the capture is invalid from now on. With the lock.
static int invalidate(Stream *stream) {
    stream->isInvalid = 1;
    return CAPTURE_UNSUPPORTED;
}

// A call that may wait for the device or that changes it, such as cudaMalloc: not during a capture of the global mode, nor
// in the thread that captures in the thread-local mode.
static int unsafeCall(void) {
    int code = SUCCESS;
    pthread_mutex_lock(&lock);
    for (Stream *s = streams; s; s = s->next) {
        int isOwn = s->graph && pthread_equal(s->capturer, pthread_self());
        if (s->graph && (s->mode == CAPTURE_GLOBAL || (s->mode == CAPTURE_THREAD_LOCAL && isOwn))) code = invalidate(s);
    }
    pthread_mutex_unlock(&lock);
    return code;
}
#define UNSAFE() do { int code_ = unsafeCall(); if (code_) return code_; } while (0)

static void appendNode(Graph *graph, void (*run)(void *), void *argument, size_t bytes) {
    Node *node = malloc(sizeof *node);
    *node = (Node) {run, argument, bytes, NULL};
    if (graph->last) graph->last->next = node; else graph->first = node;
    graph->last = node;
    graph->count++;
}

// Queues work whose argument is memory of the heap that the work frees. A captured stream records the work.
static int enqueueCopied(void *handle, void (*run)(void *), void *argument, size_t bytes) {
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    if (stream && stream->graph) appendNode(stream->graph, run, argument, bytes);
    else if (stream) push(stream, run, argument);
    pthread_mutex_unlock(&lock);
    return stream ? SUCCESS : INVALID_HANDLE;
}

static int isCaptured(void *handle) {
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int found = stream && stream->graph;
    pthread_mutex_unlock(&lock);
    return found;
}

static int refuseCaptured(void *handle) {
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int code = stream && stream->graph ? invalidate(stream) : SUCCESS;
    pthread_mutex_unlock(&lock);
    return code;
}

static void freeNodes(Graph *graph) {
    for (Node *node = graph->first; node;) {
        Node *next = node->next;
        free(node->argument);
        free(node);
        node = next;
    }
    free(graph);
}

int cudaStreamBeginCapture(void *handle, int mode) {
    ENTER();
    simcuda_log("cudaStreamBeginCapture %p mode %d", handle, mode);
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int code = !stream ? INVALID_HANDLE : stream == &defaults[stream->device] ? CAPTURE_UNSUPPORTED
             : stream->graph ? ILLEGAL_STATE : SUCCESS;
    if (!code) {
        stream->graph = calloc(1, sizeof *stream->graph);
        stream->isInvalid = 0;
        stream->mode = mode;
        stream->capturer = pthread_self();
        stream->captureId = ++captures;
    }
    pthread_mutex_unlock(&lock);
    return code;
}
int cudaStreamEndCapture(void *handle, void **graph) {
    ENTER();
    simcuda_log("cudaStreamEndCapture %p", handle);
    *graph = NULL;
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int code = !stream ? INVALID_HANDLE : !stream->graph ? ILLEGAL_STATE
             : stream->mode != CAPTURE_RELAXED && !pthread_equal(stream->capturer, pthread_self()) ? CAPTURE_WRONG_THREAD
             : stream->isInvalid ? CAPTURE_INVALIDATED : SUCCESS;
    if (code == CAPTURE_INVALIDATED) freeNodes(stream->graph);
    if (!code) *graph = stream->graph;
    if (!code || code == CAPTURE_INVALIDATED) stream->graph = NULL;
    pthread_mutex_unlock(&lock);
    return code;
}
int cudaStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id, void **graph, void **dependencies,
                             void **edges, size_t *count) {
    ENTER();
    (void) graph, (void) dependencies, (void) edges, (void) count;
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    if (stream) *status = !stream->graph ? 0 : stream->isInvalid ? 2 : 1;
    if (stream && id) *id = stream->captureId;
    pthread_mutex_unlock(&lock);
    return stream ? SUCCESS : INVALID_HANDLE;
}
int cudaStreamIsCapturing(void *handle, int *status) {
    return cudaStreamGetCaptureInfo(handle, status, NULL, NULL, NULL, NULL, NULL);
}
int cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
    (void) nodes;
    *count = ((Graph *) graph)->count;
    return SUCCESS;
}
// The executable graph is a copy: the graph may be destroyed.
int cudaGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
    ENTER();
    simcuda_log("cudaGraphInstantiateWithFlags %ld nodes flags %llu", ((Graph *) graph)->count, flags);
    Graph *copy = calloc(1, sizeof *copy);
    for (Node *n = ((Graph *) graph)->first; n; n = n->next)
        appendNode(copy, n->run, memcpy(malloc(n->bytes), n->argument, n->bytes), n->bytes);
    *executable = copy;
    return SUCCESS;
}
int cudaGraphLaunch(void *executable, void *handle) {
    ENTER();
    simcuda_log("cudaGraphLaunch %ld nodes on %p", ((Graph *) executable)->count, handle);
    if (refuseCaptured(handle)) return CAPTURE_UNSUPPORTED;
    int code = SUCCESS;
    for (Node *n = ((Graph *) executable)->first; n && !code; n = n->next)
        code = enqueueCopied(handle, n->run, memcpy(malloc(n->bytes), n->argument, n->bytes), n->bytes);
    return code;
}
int cudaGraphDestroy(void *graph) {
    simcuda_log("cudaGraphDestroy");
    freeNodes(graph);
    return SUCCESS;
}
int cudaGraphExecDestroy(void *executable) {
    simcuda_log("cudaGraphExecDestroy");
    freeNodes(executable);
    return SUCCESS;
}

static void pauseStream(void *micros) { usleep((long) micros); }
int simcuda_delay(void *stream, long micros) { return simcuda_enqueue(stream, pauseStream, (void *) micros); }

static long releases;
static void awaitRelease(void *before) {
    pthread_mutex_lock(&lock);
    while (releases == (long) before) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
int simcuda_hold(void *stream) { return simcuda_enqueue(stream, awaitRelease, (void *) releases); }
int simcuda_release(void) {
    pthread_mutex_lock(&lock);
    releases++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cudaStreamCreateWithFlags(void **handle, unsigned flags) {
    ENTER();
    pthread_mutex_lock(&lock);
    Stream *stream = &defaults[current];
    if (flags & 1) {
        stream = calloc(1, sizeof *stream);
        stream->device = current;
        stream->next = streams;
        streams = stream;
        startStream(stream);
    }
    *handle = newHandle(STREAM, stream);
    pthread_mutex_unlock(&lock);
    simcuda_log("cudaStreamCreateWithFlags %p flags %u device %d", *handle, flags, current);
    return SUCCESS;
}
int cudaStreamCreate(void **handle) { return cudaStreamCreateWithFlags(handle, 0); }
int cudaStreamCreateWithPriority(void **handle, unsigned flags, int priority) {
    (void) priority;
    return cudaStreamCreateWithFlags(handle, flags);
}
int cudaStreamDestroy(void *handle) {
    ENTER();
    simcuda_log("cudaStreamDestroy %p", handle);
    pthread_mutex_lock(&lock);
    Stream *stream = ofHandle(STREAM, handle);
    if (stream) {
        dropHandle(handle);
        stream->isClosed = stream != &defaults[stream->device]; // the thread runs what is queued, then frees the stream
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return stream ? SUCCESS : INVALID_HANDLE;
}

// Logs a question once as long as its thread asks the same thing and gets the same answer.
static int answer(const char *function, void *handle, int code) {
    static __thread void *lastHandle;
    static __thread int lastCode = -1;
    if (handle != lastHandle || code != lastCode) simcuda_log("%s %p is %d", function, handle, code);
    lastHandle = handle;
    lastCode = code;
    return failed(code);
}

int cudaStreamQuery(void *handle) {
    ENTER();
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int code = !stream ? INVALID_HANDLE : stream->graph ? invalidate(stream)
             : stream->done < stream->queued ? NOT_READY : fault[stream->device];
    pthread_mutex_unlock(&lock);
    return answer(__func__, handle, code);
}
int cudaStreamSynchronize(void *handle) {
    ENTER();
    simcuda_log("cudaStreamSynchronize %p", handle);
    if (refuseCaptured(handle)) return CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&lock);
    Stream *stream = streamOf(handle);
    int device = stream ? stream->device : current;
    if (stream) finish(stream);
    pthread_mutex_unlock(&lock);
    return stream ? fault[device] : INVALID_HANDLE;
}

// Waits for all work that the device has now. A stream that ends meanwhile has run its work.
static void finishDevice(int device) {
    pthread_mutex_lock(&lock);
    finish(&defaults[device]);
    noteWait(1);
    for (int again = 1; again;) {
        again = 0;
        for (Stream *s = streams; s; s = s->next) again |= s->device == device && s->done < s->queued;
        if (again) pthread_cond_wait(&changed, &lock);
    }
    noteWait(-1);
    pthread_mutex_unlock(&lock);
}

int cudaDeviceSynchronize(void) {
    ENTER();
    simcuda_log("cudaDeviceSynchronize device %d", current);
    UNSAFE();
    finishDevice(current);
    return fault[current];
}

typedef struct { void (*run)(void *); void *argument; } HostCall;
static void callHost(void *argument) {
    HostCall call = *(HostCall *) argument;
    free(argument);
    call.run(call.argument);
}
int cudaLaunchHostFunc(void *stream, void (*run)(void *), void *argument) {
    ENTER();
    HostCall *call = malloc(sizeof *call);
    *call = (HostCall) {run, argument};
    return simcuda_enqueue(stream, callHost, call);
}

// --- events ---------------------------------------------------------------------------------------------------------------

static Mark *keep(Mark *mark) { if (mark) mark->references++; return mark; }
static void drop(Mark *mark) { if (mark && !--mark->references) free(mark); }

static void reach(void *argument) {
    Mark *mark = argument;
    pthread_mutex_lock(&lock);
    mark->isDone = 1;
    mark->seconds = now();
    drop(mark);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
static void untilDone(Mark *mark) { // with the lock
    noteWait(1);
    while (!mark->isDone) pthread_cond_wait(&changed, &lock);
    noteWait(-1);
}
static void awaitMark(void *argument) {
    Mark *mark = argument;
    pthread_mutex_lock(&lock);
    untilDone(mark);
    drop(mark);
    pthread_mutex_unlock(&lock);
}

int cudaEventCreateWithFlags(void **handle, unsigned flags) {
    ENTER();
    (void) flags;
    Event *event = calloc(1, sizeof *event);
    event->device = current;
    pthread_mutex_lock(&lock);
    *handle = newHandle(EVENT, event);
    pthread_mutex_unlock(&lock);
    simcuda_log("cudaEventCreateWithFlags %p device %d", *handle, current);
    return SUCCESS;
}
int cudaEventCreate(void **handle) { return cudaEventCreateWithFlags(handle, 0); }
int cudaEventDestroy(void *handle) {
    ENTER();
    simcuda_log("cudaEventDestroy %p", handle);
    pthread_mutex_lock(&lock);
    Event *event = ofHandle(EVENT, handle);
    if (event) {
        dropHandle(handle);
        drop(event->mark);
        free(event);
    }
    pthread_mutex_unlock(&lock);
    return event ? SUCCESS : INVALID_HANDLE;
}
int cudaEventRecord(void *handle, void *streamHandle) {
    ENTER();
    simcuda_log("cudaEventRecord %p on %p", handle, streamHandle);
    pthread_mutex_lock(&lock);
    Event *event = ofHandle(EVENT, handle);
    Stream *stream = streamOf(streamHandle);
    int isValid = event && stream && event->device == stream->device;
    if (isValid) {
        drop(event->mark);
        event->mark = calloc(1, sizeof *event->mark);
        keep(event->mark);
        if (stream->graph) event->mark->isCaptured = 1; // the order of one stream needs no node
        else push(stream, reach, keep(event->mark));
    }
    pthread_mutex_unlock(&lock);
    return isValid ? SUCCESS : INVALID_HANDLE;
}
int cudaStreamWaitEvent(void *streamHandle, void *handle, unsigned flags) {
    ENTER();
    (void) flags;
    simcuda_log("cudaStreamWaitEvent %p awaits %p", streamHandle, handle);
    pthread_mutex_lock(&lock);
    Event *event = ofHandle(EVENT, handle);
    Stream *stream = streamOf(streamHandle);
    int code = event && stream ? SUCCESS : INVALID_HANDLE;
    int ofCapture = !code && event->mark && event->mark->isCaptured;
    if (!code && event->mark && ofCapture != (stream->graph != NULL)) { // a second stream cannot join a capture here
        if (stream->graph) stream->isInvalid = 1;
        code = CAPTURE_ISOLATION;
    } else if (!code && !ofCapture && event->mark && !event->mark->isDone) {
        push(stream, awaitMark, keep(event->mark));
    }
    pthread_mutex_unlock(&lock);
    return code;
}
int cudaEventQuery(void *handle) {
    ENTER();
    pthread_mutex_lock(&lock);
    Event *event = ofHandle(EVENT, handle);
    int code = !event ? INVALID_HANDLE : event->mark && event->mark->isCaptured ? CAPTURED_EVENT
             : event->mark && !event->mark->isDone ? NOT_READY : fault[event->device];
    pthread_mutex_unlock(&lock);
    return answer(__func__, handle, code);
}
int cudaEventSynchronize(void *handle) {
    ENTER();
    simcuda_log("cudaEventSynchronize %p", handle);
    pthread_mutex_lock(&lock);
    Event *event = ofHandle(EVENT, handle);
    if (event && event->mark && event->mark->isCaptured) {
        pthread_mutex_unlock(&lock);
        return CAPTURED_EVENT;
    }
    Mark *mark = event ? keep(event->mark) : NULL;
    if (mark) untilDone(mark);
    drop(mark);
    pthread_mutex_unlock(&lock);
    return event ? fault[current] : INVALID_HANDLE;
}
int cudaEventElapsedTime(float *millis, void *begin, void *end) {
    ENTER();
    pthread_mutex_lock(&lock);
    Event *first = ofHandle(EVENT, begin), *last = ofHandle(EVENT, end);
    int code = !first || !last || !first->mark || !last->mark ? INVALID_HANDLE
             : !first->mark->isDone || !last->mark->isDone ? NOT_READY : SUCCESS;
    if (!code) *millis = (last->mark->seconds - first->mark->seconds) * 1000;
    pthread_mutex_unlock(&lock);
    return code;
}

// --- memory ---------------------------------------------------------------------------------------------------------------

static int isDevice(const void *p) {
    return (const char *) p >= deviceRange && (const char *) p < deviceRange + MAX_DEVICES * SPACE;
}
static int deviceOf(const void *p) { return ((const char *) p - deviceRange) / SPACE; }

// The block that holds n bytes at p; with the lock.
static Block *find(Block *list, const char *p, size_t n) {
    for (Block *b = list; b && b->start <= p; b = b->next) if (p + n <= b->start + b->bytes) return b;
    return NULL;
}

static void insert(Block **place, char *start, size_t bytes) {
    while (*place && (*place)->start < start) place = &(*place)->next;
    Block *block = malloc(sizeof *block);
    *block = (Block) {start, bytes, *place};
    *place = block;
}

// Takes the block that starts at p out of a list. Returns its size, or 0.
static size_t take(Block **place, const void *p) {
    while (*place && (*place)->start != p) place = &(*place)->next;
    Block *block = *place;
    if (!block) return 0;
    size_t bytes = block->bytes;
    *place = block->next;
    free(block);
    return bytes;
}

void *simcuda_host(const void *p, size_t n) {
    pthread_once(&once, start);
    if (!n || !isDevice(p)) return (void *) p;
    int device = deviceOf(p);
    pthread_mutex_lock(&lock);
    Block *block = find(blocks[device], p, n);
    if (!block) fault[device] = ILLEGAL_ADDRESS;
    pthread_mutex_unlock(&lock);
    if (block) return hostRange + ((const char *) p - deviceRange);
    simcuda_log("illegal access to %zu bytes at %p", n, p);
    return NULL;
}

long simcuda_allocated(void) {
    long sum = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_DEVICES; i++) sum += held[i];
    pthread_mutex_unlock(&lock);
    return sum;
}

int cudaMalloc(void **place, size_t n) {
    ENTER();
    UNSAFE();
    if (!n) { *place = NULL; return SUCCESS; }
    size_t whole = (n + PAGE - 1) / PAGE * PAGE;
    pthread_mutex_lock(&lock);
    char *at = deviceRange + current * SPACE + PAGE; // the first gap; a free page lies behind each block
    for (Block *b = blocks[current]; b && b->start < at + whole + PAGE; b = b->next)
        at = b->start + (b->bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    int fits = held[current] + n <= (size_t) simcuda_number("SIMCUDA_MEMORY", 1l << 30);
    if (fits) {
        insert(&blocks[current], at, n);
        held[current] += n;
    }
    pthread_mutex_unlock(&lock);
    simcuda_log("cudaMalloc %zu bytes device %d is %p", n, current, fits ? at : NULL);
    if (!fits) return failed(OUT_OF_MEMORY);
    memset(hostRange + (at - deviceRange), 0xA5, n);
    *place = at;
    return SUCCESS;
}
int cudaFree(void *p) {
    ENTER();
    if (!p) return SUCCESS;
    simcuda_log("cudaFree %p", p);
    UNSAFE();
    if (!isDevice(p)) return INVALID_VALUE;
    int device = deviceOf(p);
    finishDevice(device);
    pthread_mutex_lock(&lock);
    size_t n = take(&blocks[device], p);
    held[device] -= n;
    pthread_mutex_unlock(&lock);
    if (!n) return INVALID_VALUE;
    madvise(hostRange + ((char *) p - deviceRange), (n + PAGE - 1) / PAGE * PAGE, MADV_DONTNEED);
    return SUCCESS;
}
int cudaMallocAsync(void **place, size_t n, void *stream) { (void) stream; return cudaMalloc(place, n); }
int cudaFreeAsync(void *p, void *stream) { (void) stream; return cudaFree(p); }

int cudaHostRegister(void *p, size_t n, unsigned flags) {
    ENTER();
    UNSAFE();
    (void) flags;
    simcuda_log("cudaHostRegister %zu bytes at %p", n, p);
    pthread_mutex_lock(&lock);
    insert(&pinned, p, n);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
int cudaHostUnregister(void *p) {
    ENTER();
    simcuda_log("cudaHostUnregister %p", p);
    for (int i = 0; i < visibleCount; i++) finishDevice(i);
    pthread_mutex_lock(&lock);
    size_t n = take(&pinned, p);
    pthread_mutex_unlock(&lock);
    return n ? SUCCESS : INVALID_VALUE;
}
int cudaHostAlloc(void **place, size_t n, unsigned flags) {
    ENTER();
    if (!n) n = 1;
    *place = aligned_alloc(PAGE, (n + PAGE - 1) / PAGE * PAGE);
    if (!*place) return failed(OUT_OF_MEMORY);
    memset(*place, 0xA5, n);
    return cudaHostRegister(*place, n, flags);
}
int cudaMallocHost(void **place, size_t n) { return cudaHostAlloc(place, n, 0); }
int cudaFreeHost(void *p) {
    if (!p) return SUCCESS;
    int code = cudaHostUnregister(p);
    if (!code) free(p);
    return code;
}
int cudaHostGetDevicePointer(void **place, void *p, unsigned flags) { (void) flags; *place = p; return SUCCESS; }
int cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER();
    *total = simcuda_number("SIMCUDA_MEMORY", 1l << 30);
    *available = *total - held[current];
    return SUCCESS;
}

int cudaPointerGetAttributes(Attributes *found, const void *p) {
    pthread_once(&once, start);
    *found = (Attributes) {.device = -1};
    pthread_mutex_lock(&lock);
    if (isDevice(p)) {
        int device = deviceOf(p);
        if (find(blocks[device], p, 1)) *found = (Attributes) {.type = 2, .device = device, .onDevice = (void *) p};
    } else if (find(pinned, p, 1)) {
        *found = (Attributes) {.type = 1, .device = current, .onDevice = (void *) p, .onHost = (void *) p};
    }
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

typedef struct { char *to; const char *from; char *staged; size_t bytes; int value; long pause; } Copy;
static void copy(void *argument) {
    Copy *c = argument;
    if (c->pause) usleep(c->pause);
    char *to = simcuda_host(c->to, c->bytes);
    const char *from = c->staged ? c->staged : simcuda_host(c->from, c->bytes);
    if (to && from) memmove(to, from, c->bytes);
    free(c->staged);
    free(c);
}
static void set(void *argument) {
    Copy *c = argument;
    char *to = simcuda_host(c->to, c->bytes);
    if (to) memset(to, c->value, c->bytes);
    free(c);
}

static int isPinned(const void *p, size_t n) {
    pthread_mutex_lock(&lock);
    int found = find(pinned, p, n) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

// As with a driver: memory that is not pinned is copied to a staging buffer when the call is made, and a copy to such
// memory has ended when the call returns.
int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream) {
    ENTER();
    simcuda_log("cudaMemcpyAsync %zu bytes to %p from %p kind %d on %p", n, to, from, kind, stream);
    int toDevice = isDevice(to), fromDevice = isDevice(from);
    int direct = toDevice ? fromDevice ? DEVICE_TO_DEVICE : HOST_TO_DEVICE : fromDevice ? DEVICE_TO_HOST : 0;
    if (kind != BY_ADDRESS && kind != direct) return INVALID_DIRECTION;
    if (!n) return SUCCESS;
    Copy *c = malloc(sizeof *c);
    *c = (Copy) {to, from, NULL, n, 0, simcuda_number("SIMCUDA_COPY_MICROS", 0)};
    int isStaged = !fromDevice && !isPinned(from, n), waits = !toDevice && !isPinned(to, n);
    if ((isStaged || waits) && isCaptured(stream)) {
        free(c);
        return refuseCaptured(stream);
    }
    if (isStaged) c->staged = memcpy(malloc(n), from, n);
    int code = enqueueCopied(stream, copy, c, sizeof *c);
    if (!code && waits) {
        pthread_mutex_lock(&lock);
        Stream *queue = streamOf(stream);
        if (queue) finish(queue);
        pthread_mutex_unlock(&lock);
        code = fault[current];
    }
    return code;
}
int cudaMemcpy(void *to, const void *from, size_t n, int kind) {
    int code = cudaMemcpyAsync(to, from, n, kind, NULL);
    return code ? code : cudaStreamSynchronize(NULL);
}
int cudaMemsetAsync(void *to, int value, size_t n, void *stream) {
    ENTER();
    simcuda_log("cudaMemsetAsync %zu bytes at %p on %p", n, to, stream);
    if (!n) return SUCCESS;
    Copy *c = malloc(sizeof *c);
    *c = (Copy) {to, NULL, NULL, n, value, 0};
    return enqueueCopied(stream, set, c, sizeof *c);
}
int cudaMemset(void *to, int value, size_t n) { return cudaMemsetAsync(to, value, n, NULL); }

// --- words: the driver's stream memory operations; libcuda.so.1 is this library -----------------------------------------

typedef struct { int *word; int value; } Word;
static void awaitWord(void *argument) {
    Word w = *(Word *) argument;
    free(argument);
    while (__atomic_load_n(w.word, __ATOMIC_ACQUIRE) - w.value < 0) usleep(20);
}
static void writeWord(void *argument) {
    Word w = *(Word *) argument;
    free(argument);
    __atomic_store_n(w.word, w.value, __ATOMIC_RELEASE);
}
static int onWord(void *stream, int *word, int value, void (*run)(void *)) {
    pthread_mutex_lock(&lock);
    int isValid = find(pinned, (char *) word, sizeof *word) != NULL;
    pthread_mutex_unlock(&lock);
    if (!isValid) return INVALID_VALUE;
    Word *w = malloc(sizeof *w);
    *w = (Word) {word, value};
    return simcuda_enqueue(stream, run, w);
}
int cuStreamWaitValue32_v2(void *stream, int *word, int value, unsigned flags) {
    ENTER();
    (void) flags; // 0: until the word minus the value, in 32 bits, is not negative
    simcuda_log("cuStreamWaitValue32 %p awaits %d at %p", stream, value, (void *) word);
    return onWord(stream, word, value, awaitWord);
}
int cuStreamWriteValue32_v2(void *stream, int *word, int value, unsigned flags) {
    ENTER();
    (void) flags;
    simcuda_log("cuStreamWriteValue32 %p writes %d at %p", stream, value, (void *) word);
    return onWord(stream, word, value, writeWord);
}

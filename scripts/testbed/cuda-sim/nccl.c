// NCCL without a GPU, for tests, on the simulated CUDA runtime. scripts/testbed/cuda describes the settings.
//
// Data moves through rings in memory that all ranks of a communicator map, also between processes. Each operation runs on
// its stream. A reduction adds the ranks in order. As with NCCL, an operation whose peer does not come runs until the
// communicator is aborted, and each buffer of a rank that has aborted is gone: a peer that still reads it fails.
#define _GNU_SOURCE
#include "simcuda.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, CUDA_ERROR = 1, SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6,
       IN_PROGRESS = 7 };
enum { JOINED = 1, FINALIZED, ABORTED };
#define MAX_RANKS 16
#define RING (1ul << 17)

typedef struct { char internal[128]; } Id;
typedef struct { atomic_int state, pid, device; char host[64]; } Member;
typedef struct { atomic_ulong written, read; char padding[48], data[RING]; } Ring;
typedef struct { atomic_int joined, finalized; Member members[MAX_RANKS]; Ring rings[MAX_RANKS][MAX_RANKS]; } Shared;
typedef struct {
    Shared *shared;
    char name[128];
    int rank, size, device, isConnected, isGone;
    atomic_int state, isAborted, isFinalized, isFinalizing, running; // running: operations that have not ended
    atomic_int users; // threads in a function of the communicator
} Comm;
typedef enum { SEND, RECEIVE, BROADCAST, REDUCE, ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER } Kind;
typedef struct { Kind kind; const void *in; void *out; size_t n; int type, op, root; Comm *comm; void *stream; } Op;
typedef struct { int n; Op ops[]; } Kernel; // the operations of one NCCL group, of one communicator
typedef struct { int isSend, peer; char *data; size_t bytes, at; } Transfer;

static void pauseBriefly(void) { usleep(20); }

// --- elements -------------------------------------------------------------------------------------------------------------

static const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
static float ofHalf(uint16_t bits) {
    int exponent = bits >> 10 & 31, sign = bits >> 15 ? -1 : 1;
    double fraction = bits & 1023;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}
static float ofBrain(uint16_t bits) { uint32_t wide = (uint32_t) bits << 16; float value; memcpy(&value, &wide, 4); return value; }
static uint16_t toHalf(double v) { // to the nearest, ties to even
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (v != v) return 0x7e00;
    double size = fabs(v);
    int exponent = ilogb(size < 0x1p-14 ? 0x1p-14 : size);
    double units = nearbyint(ldexp(size, 10 - exponent)); // 1024 to 2048; less for subnormal numbers
    if (size >= 65520) return sign | 0x7c00;
    return sign | (uint16_t) (units + (exponent + 14) * 1024);
}
static uint16_t toBrain(double v) { // to the nearest, ties to even
    float value = v;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static int isFloat(int type) { return type >= 6; }
static double real(const char *p, int type) {
    switch (type) {
    case 6: return ofHalf(*(uint16_t *) p);
    case 7: return *(float *) p;
    case 8: return *(double *) p;
    default: return ofBrain(*(uint16_t *) p);
    }
}
static void putReal(char *p, int type, double v) {
    switch (type) {
    case 6: *(uint16_t *) p = toHalf(v); break;
    case 7: *(float *) p = v; break;
    case 8: *(double *) p = v; break;
    default: *(uint16_t *) p = toBrain(v);
    }
}
static int64_t whole(const char *p, int type) {
    switch (type) {
    case 0: return *(int8_t *) p;
    case 1: return *(uint8_t *) p;
    case 2: return *(int32_t *) p;
    case 3: return *(uint32_t *) p;
    default: return *(int64_t *) p;
    }
}

// to = to OP from, element by element; op: 0 sum 1 product 2 max 3 min 4 average, which begins as a sum
static void add(char *to, const char *from, size_t n, int type, int op) {
    int size = sizes[type];
    for (size_t i = 0; i < n; i++, to += size, from += size) {
        if (isFloat(type)) {
            double a = real(to, type), b = real(from, type);
            putReal(to, type, op == 1 ? a * b : op == 2 ? (b > a ? b : a) : op == 3 ? (b < a ? b : a) : a + b);
        } else if (type == 5 && (op == 2 || op == 3)) {
            uint64_t a = *(uint64_t *) to, b = *(uint64_t *) from;
            *(uint64_t *) to = op == 2 ? (b > a ? b : a) : (b < a ? b : a);
        } else {
            int64_t a = whole(to, type), b = whole(from, type);
            uint64_t both = op == 1 ? (uint64_t) a * (uint64_t) b : op == 2 ? (uint64_t) (b > a ? b : a)
                          : op == 3 ? (uint64_t) (b < a ? b : a) : (uint64_t) a + (uint64_t) b;
            memcpy(to, &both, size);
        }
    }
}
static void divide(char *to, size_t n, int type, int by) {
    for (size_t i = 0; i < n; i++, to += sizes[type]) {
        if (isFloat(type)) { putReal(to, type, real(to, type) / by); continue; }
        int64_t quotient = whole(to, type) / by;
        memcpy(to, &quotient, sizes[type]);
    }
}

// --- transfers ------------------------------------------------------------------------------------------------------------

static size_t copyRing(Ring *ring, Transfer *t) {
    unsigned long written = ring->written, read = ring->read;
    size_t can = t->isSend ? RING - (written - read) : written - read;
    size_t n = t->bytes - t->at < can ? t->bytes - t->at : can;
    unsigned long at = (t->isSend ? written : read) % RING;
    size_t first = n < RING - at ? n : RING - at;
    char *mine = t->data + t->at;
    if (t->isSend) {
        memcpy(ring->data + at, mine, first);
        memcpy(ring->data, mine + first, n - first);
        ring->written = written + n;
    } else {
        memcpy(mine, ring->data + at, first);
        memcpy(mine + first, ring->data, n - first);
        ring->read = read + n;
    }
    t->at += n;
    return n;
}

static int isLost(Comm *c, int peer) {
    Member *member = &c->shared->members[peer];
    if (member->state == ABORTED) return 1;
    return simcuda_number("SIMNCCL_DETECTS", 0) && kill(member->pid, 0) && errno == ESRCH;
}

// Runs transfers to their end. Transfers with one peer in one direction run in order. Returns 0 after an abort.
static int move(Comm *c, Transfer *transfers, int n) {
    for (;;) {
        char isBusy[2][MAX_RANKS] = {0};
        size_t moved = 0;
        int open = 0;
        for (int i = 0; i < n; i++) {
            Transfer *t = &transfers[i];
            if (t->at == t->bytes || isBusy[t->isSend][t->peer]) continue;
            isBusy[t->isSend][t->peer] = 1;
            open = 1;
            if (isLost(c, t->peer)) {
                if (!atomic_exchange(&c->state, REMOTE_ERROR)) simcuda_log("rank %d has lost rank %d", c->rank, t->peer);
                continue;
            }
            Ring *ring = t->isSend ? &c->shared->rings[c->rank][t->peer] : &c->shared->rings[t->peer][c->rank];
            moved += copyRing(ring, t);
        }
        if (!open) return 1;
        if (c->isAborted) return 0;
        if (!moved) pauseBriefly();
    }
}

// Sends n bytes to every rank with in[r], and receives n bytes of every rank at out + r * n.
static int exchange(Comm *c, const char *in, size_t stride, char *out, size_t n) {
    Transfer all[2 * MAX_RANKS];
    int count = 0;
    for (int r = 0; r < c->size; r++) {
        if (r == c->rank) { memcpy(out + r * n, in + r * stride, n); continue; }
        all[count++] = (Transfer) {1, r, (char *) in + r * stride, n, 0};
        all[count++] = (Transfer) {0, r, out + r * n, n, 0};
    }
    return move(c, all, count);
}

static int runCollective(Op *o) {
    Comm *c = o->comm;
    size_t bytes = o->n * sizes[o->type], all = bytes * c->size;
    if (!bytes) return 1;
    int isRoot = o->root == c->rank;
    int reads = o->kind != BROADCAST || isRoot, writes = o->kind != REDUCE || isRoot;
    char *in = reads ? simcuda_host(o->in, o->kind == REDUCE_SCATTER ? all : bytes) : NULL;
    char *out = writes ? simcuda_host(o->out, o->kind == ALL_GATHER ? all : bytes) : NULL;
    if ((reads && !in) || (writes && !out)) { c->state = CUDA_ERROR; return 0; }
    if (o->kind == BROADCAST || o->kind == REDUCE) {
        int gathers = o->kind == REDUCE;
        char *got = gathers && isRoot ? malloc(all) : NULL;
        Transfer transfers[MAX_RANKS];
        int count = 0;
        for (int r = 0; r < c->size; r++) {
            if (r == c->rank || (!isRoot && r != o->root)) continue;
            int sends = gathers != isRoot;
            char *data = sends ? in : isRoot ? got + r * bytes : out;
            transfers[count++] = (Transfer) {sends, r, data, bytes, 0};
        }
        int ended = move(c, transfers, count);
        if (got) memcpy(got + c->rank * bytes, in, bytes);
        for (int r = 1; got && ended && r < c->size; r++) add(got, got + r * bytes, o->n, o->type, o->op);
        if (got && ended && o->op == 4) divide(got, o->n, o->type, c->size);
        if (got && ended) memcpy(out, got, bytes);
        if (!gathers && isRoot && out != in) memcpy(out, in, bytes);
        free(got);
        return ended;
    }
    char *got = malloc(all);
    int ended = exchange(c, in, o->kind == REDUCE_SCATTER ? bytes : 0, got, bytes);
    if (ended && o->kind != ALL_GATHER) {
        for (int r = 1; r < c->size; r++) add(got, got + r * bytes, o->n, o->type, o->op);
        if (o->op == 4) divide(got, o->n, o->type, c->size);
    }
    if (ended) memcpy(out, got, o->kind == ALL_GATHER ? all : bytes);
    free(got);
    return ended;
}

static void runKernel(void *argument) {
    Kernel *kernel = argument;
    Comm *c = kernel->ops[0].comm;
    long micros = simcuda_number("SIMNCCL_MICROS", 0);
    if (micros) usleep(micros);
    while (simcuda_isLate() && !c->isAborted) pauseBriefly();
    Transfer *messages = calloc(kernel->n, sizeof *messages);
    int count = 0, isRunning = !c->isAborted;
    for (int i = 0; i < kernel->n; i++) {
        Op *o = &kernel->ops[i];
        if (o->kind > RECEIVE) { isRunning = isRunning && runCollective(o); continue; }
        size_t bytes = o->n * sizes[o->type];
        char *data = simcuda_host(o->kind == SEND ? o->in : o->out, bytes);
        if (bytes && !data) { c->state = CUDA_ERROR; isRunning = 0; }
        messages[count++] = (Transfer) {o->kind == SEND, o->root, data, bytes, 0};
    }
    if (isRunning) move(c, messages, count);
    while (!isRunning && !c->isAborted) pauseBriefly(); // a failed operation ends with its communicator
    free(messages);
    free(kernel);
    c->running--;
}

// --- communicators --------------------------------------------------------------------------------------------------------

static struct sockaddr_un addressOf(const char *name, socklen_t *length) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *folder = getenv("SIMNCCL_FOLDER");
    if (folder) { // hosts with networks of their own share no abstract names
        snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
        *length = sizeof address;
    } else {
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name); // an abstract name: no file is left
        *length = sizeof address.sun_family + 1 + strlen(name);
    }
    return address;
}

// Gives each rank that connects the memory of the communicator, until all ranks have it. Each rank sends their number.
static void *serve(void *argument) {
    int listener = (long) argument, memory = memfd_create("simulated-nccl", MFD_CLOEXEC), size = 1;
    prctl(PR_SET_NAME, "nccl bootstrap");
    if (ftruncate(memory, sizeof(Shared))) perror("simulated NCCL: ftruncate");
    for (int joined = 0; joined < size; joined++) {
        struct pollfd ready = {listener, POLLIN, 0};
        if (poll(&ready, 1, 120000) <= 0) break;
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (read(peer, &size, sizeof size) != sizeof size) { close(peer); joined--; continue; }
        char byte = 1, control[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec data = {&byte, 1};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &memory, sizeof memory);
        if (sendmsg(peer, &message, MSG_NOSIGNAL) < 0) perror("simulated NCCL: sendmsg");
        close(peer);
    }
    close(memory);
    close(listener);
    return NULL;
}

int ncclGetVersion(int *version) {
    *version = simcuda_number("SIMNCCL_VERSION", 22809);
    return simcuda_failure(__func__);
}
const char *ncclGetErrorString(int code) { return code ? "a simulated error" : "no error"; }
const char *ncclGetLastError(Comm *comm) { (void) comm; return ""; }

static void spawn(void *(*run)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, argument);
    pthread_detach(thread);
}

int ncclGetUniqueId(Id *id) {
    int code = simcuda_failure(__func__);
    if (code) return code;
    unsigned long random = 0;
    if (getrandom(&random, sizeof random, 0) < 0) return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "simnccl-%d-%016lx", getpid(), random);
    socklen_t length;
    struct sockaddr_un address = addressOf(id->internal, &length);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *) &address, length) || listen(listener, MAX_RANKS)) return SYSTEM_ERROR;
    spawn(serve, (void *) (long) listener);
    return SUCCESS;
}

static int memoryOf(Comm *c) {
    socklen_t length;
    struct sockaddr_un address = addressOf(c->name, &length);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), memory = -1;
    while (connect(server, (struct sockaddr *) &address, length)) {
        if (c->isAborted) { close(server); return -1; }
        pauseBriefly();
    }
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (write(server, &c->size, sizeof c->size) == sizeof c->size && recvmsg(server, &message, MSG_CMSG_CLOEXEC) == 1) {
        memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
    }
    close(server);
    return memory;
}

// The host of a rank: NCCL_HOSTID, or the name of the machine.
static void nameHost(char *name, size_t size) {
    const char *given = getenv("NCCL_HOSTID");
    if (given) snprintf(name, size, "%s", given);
    else gethostname(name, size);
}

static void *join(void *argument) {
    Comm *c = argument;
    prctl(PR_SET_NAME, "nccl join");
    int memory = memoryOf(c);
    if (memory < 0) { if (!c->isAborted) c->state = SYSTEM_ERROR; c->running--; return NULL; }
    Shared *shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    c->shared = shared;
    Member *me = &shared->members[c->rank];
    nameHost(me->host, sizeof me->host - 1);
    me->pid = getpid();
    me->device = simcuda_physical(c->device);
    me->state = c->isAborted ? ABORTED : JOINED;
    shared->joined++;
    while (shared->joined < c->size && !c->isAborted) pauseBriefly();
    int code = SUCCESS;
    for (int r = 0; r < c->size; r++) {
        Member *other = &shared->members[r];
        if (r != c->rank && other->device == me->device && !strcmp(other->host, me->host)) code = INVALID_USAGE;
        if (other->state == ABORTED) code = REMOTE_ERROR;
    }
    if (code == INVALID_USAGE) simcuda_log("Duplicate GPU detected: rank %d and another have device %d", c->rank, me->device);
    c->state = c->isAborted ? REMOTE_ERROR : code;
    c->running--;
    return NULL;
}

int ncclCommInitRankConfig(Comm **place, int size, Id id, int rank, void *config) {
    if (((unsigned *) config)[2] != 0xcafebeef || size > MAX_RANKS || rank < 0 || rank >= size) return INVALID_ARGUMENT;
    int code = simcuda_failure(__func__);
    if (code) return code;
    Comm *c = calloc(1, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", id.internal);
    c->rank = rank;
    c->size = size;
    extern int cudaGetDevice(int *);
    cudaGetDevice(&c->device);
    c->state = IN_PROGRESS;
    c->running = 1;
    *place = c;
    simcuda_log("ncclCommInitRankConfig rank %d of %d on device %d is %p", rank, size, c->device, (void *) c);
    spawn(join, c);
    return IN_PROGRESS;
}

// A communicator is for one thread at a time: in NCCL two threads that ask for the state may both end the same group of
// calls, and the second one reads memory that is free.
static int enter(Comm *c) {
    if (atomic_fetch_add(&c->users, 1)) {
        simcuda_log("two threads use communicator %p", (void *) c);
        c->users--;
        return INTERNAL_ERROR;
    }
    long micros = simcuda_number("SIMNCCL_CALL_MICROS", 0);
    if (micros) usleep(micros);
    return SUCCESS;
}
static int leaveWith(Comm *c, int code) { c->users--; return code; }

int ncclCommGetAsyncError(Comm *c, int *state) {
    int code = simcuda_failure(__func__);
    if (code) return code;
    if ((code = enter(c))) return code;
    *state = c->state;
    return leaveWith(c, c->isGone ? INVALID_ARGUMENT : SUCCESS);
}

// Ends the use of the shared memory. A communicator that has ended stays as a few bytes, so that a later use is an error.
static void *leave(void *argument) {
    Comm *c = argument;
    while (c->running || c->isFinalizing) pauseBriefly();
    if (c->shared) munmap(c->shared, sizeof(Shared));
    c->shared = NULL;
    return NULL;
}

static void end(Comm *c, int how) {
    c->isAborted = how == ABORTED;
    if (c->shared && c->shared->members[c->rank].state != FINALIZED) c->shared->members[c->rank].state = how;
    c->isGone = 1;
    spawn(leave, c);
}

int ncclCommAbort(Comm *c) {
    simcuda_log("ncclCommAbort %p", (void *) c);
    int code = enter(c);
    if (code) return code;
    if (c->isGone) return leaveWith(c, INVALID_ARGUMENT);
    end(c, ABORTED);
    return leaveWith(c, SUCCESS);
}

static void *finalize(void *argument) {
    Comm *c = argument;
    while (c->running && !c->isAborted) pauseBriefly();
    c->shared->finalized++;
    while (c->shared->finalized < c->size && !c->isAborted) {
        for (int r = 0; r < c->size; r++) if (isLost(c, r)) c->state = REMOTE_ERROR;
        pauseBriefly();
    }
    if (!c->isAborted) {
        c->shared->members[c->rank].state = FINALIZED;
        c->isFinalized = 1;
        if (c->state == IN_PROGRESS) c->state = SUCCESS;
    }
    c->isFinalizing = 0;
    return NULL;
}

int ncclCommFinalize(Comm *c) {
    simcuda_log("ncclCommFinalize %p", (void *) c);
    int code = simcuda_failure(__func__);
    if (code) return code;
    if ((code = enter(c))) return code;
    if (c->isGone || c->state) return leaveWith(c, INVALID_ARGUMENT);
    c->state = IN_PROGRESS;
    c->isFinalizing = 1;
    spawn(finalize, c);
    return leaveWith(c, IN_PROGRESS);
}

int ncclCommDestroy(Comm *c) {
    simcuda_log("ncclCommDestroy %p%s", (void *) c, c->isFinalized ? "" : " that is not finalized");
    int code = enter(c);
    if (code) return code;
    if (c->isGone) return leaveWith(c, INVALID_ARGUMENT);
    end(c, c->isFinalized ? FINALIZED : ABORTED);
    return leaveWith(c, SUCCESS);
}

// --- operations -----------------------------------------------------------------------------------------------------------

static __thread Op queue[1024];
static __thread int queued, depth;

static void *connectAndLaunch(void *argument) {
    Kernel *kernel = argument;
    Op first = kernel->ops[0];
    usleep(simcuda_number("SIMNCCL_CONNECT_MICROS", 500));
    extern int cudaSetDevice(int);
    cudaSetDevice(first.comm->device);
    int code = simcuda_enqueue(first.stream, runKernel, kernel);
    if (code) first.comm->running--;
    first.comm->state = code ? INVALID_ARGUMENT : SUCCESS;
    return NULL;
}

// The first operation of a communicator connects the ranks: the caller must wait for the state SUCCESS.
static int launchAlone(Op *ops, int n) {
    Comm *c = ops[0].comm;
    if (c->isGone || c->state == IN_PROGRESS) return INVALID_ARGUMENT;
    if (c->state) return c->state;
    Kernel *kernel = malloc(sizeof *kernel + n * sizeof *ops);
    kernel->n = n;
    memcpy(kernel->ops, ops, n * sizeof *ops);
    c->running++;
    if (!c->isConnected) {
        c->isConnected = 1;
        c->state = IN_PROGRESS;
        spawn(connectAndLaunch, kernel);
        return IN_PROGRESS;
    }
    void *stream = ops[0].stream;
    int code = simcuda_enqueue(stream, runKernel, kernel);
    if (code) c->running--;
    return code ? INVALID_ARGUMENT : SUCCESS;
}

static int launch(Op *ops, int n) {
    Comm *c = ops[0].comm;
    int code = enter(c);
    return code ? code : leaveWith(c, launchAlone(ops, n));
}

static int enqueue(const char *function, Op o) {
    int code = simcuda_failure(function);
    if (code) return code;
    simcuda_log("%s %zu of type %d in %p out %p root %d comm %p on %p", function, o.n, o.type, o.in, o.out, o.root,
                (void *) o.comm, o.stream);
    char later[64];
    snprintf(later, sizeof later, "%s.async", function);
    int failure = simcuda_failure(later); // the call is accepted, and the operation then fails
    if (failure) {
        o.comm->state = failure;
        return SUCCESS;
    }
    if (!depth) return launch(&o, 1);
    if (queued == 1024) return INVALID_USAGE;
    queue[queued++] = o;
    return SUCCESS;
}

int ncclGroupStart(void) { depth++; return simcuda_failure(__func__); }
int ncclGroupEnd(void) {
    int code = simcuda_failure(__func__), n = queued;
    if (--depth) return code;
    queued = 0;
    if (!code && n) code = launch(queue, n);
    return code;
}
int ncclAllReduce(void *in, void *out, size_t n, int type, int op, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {ALL_REDUCE, in, out, n, type, op, 0, comm, stream});
}
int ncclBroadcast(void *in, void *out, size_t n, int type, int root, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {BROADCAST, in, out, n, type, 0, root, comm, stream});
}
int ncclReduce(void *in, void *out, size_t n, int type, int op, int root, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {REDUCE, in, out, n, type, op, root, comm, stream});
}
int ncclAllGather(void *in, void *out, size_t n, int type, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {ALL_GATHER, in, out, n, type, 0, 0, comm, stream});
}
int ncclReduceScatter(void *in, void *out, size_t n, int type, int op, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {REDUCE_SCATTER, in, out, n, type, op, 0, comm, stream});
}
int ncclSend(void *in, size_t n, int type, int peer, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {SEND, in, NULL, n, type, 0, peer, comm, stream});
}
int ncclRecv(void *out, size_t n, int type, int peer, Comm *comm, void *stream) {
    return enqueue(__func__, (Op) {RECEIVE, NULL, out, n, type, 0, peer, comm, stream});
}

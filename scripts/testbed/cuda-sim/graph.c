// libtorch's at::cuda::CUDAGraph without libtorch, for tests: the functions by their names in libtorch_cuda.so, over the
// captures of the simulated CUDA runtime. Has no memory pool. An error ends the process with SIGABRT, as an exception of
// C++ that leaves a function called by Java.
#include <stdio.h>
#include <stdlib.h>

int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *executable);
void simcuda_log(const char *format, ...);

typedef struct { void *graph, *executable; void *stream; } CudaGraph;

static __thread void *current; // the stream that libtorch would use in this thread

// Chooses the current stream of this thread. Returns the stream before.
void *simtorch_exchange_stream(void *stream) {
    void *before = current;
    current = stream;
    return before;
}

static void check(int isTrue, const char *what) {
    if (isTrue) return;
    fprintf(stderr, "terminate called after throwing an instance of 'c10::Error': %s\n", what);
    abort();
}

void _ZN2at4cuda9CUDAGraphC1Eb(CudaGraph *self, _Bool keeps) {
    check(!keeps, "the simulation keeps no graph");
    *self = (CudaGraph) {NULL, NULL, NULL};
}
void _ZN2at4cuda9CUDAGraphD1Ev(CudaGraph *self) {
    if (self->executable) cudaGraphExecDestroy(self->executable);
}
// A Generator is a pointer to its implementation.
void _ZN2at4cuda9CUDAGraph24register_generator_stateERKNS_9GeneratorE(CudaGraph *self, void **generator) {
    (void) self;
    simcuda_log("register_generator_state %p", *generator);
}
// A pair of two numbers travels by value in two registers.
typedef struct { unsigned long long first, second; } Pool;
void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(CudaGraph *self, Pool pool, int mode) {
    check(!pool.first && !pool.second, "the simulation has no memory pools");
    check(current != NULL, "CUDA graphs must be captured on a non-default stream.");
    self->stream = current;
    check(!cudaStreamBeginCapture(current, mode), "cudaStreamBeginCapture failed");
}
void _ZN2at4cuda9CUDAGraph11capture_endEv(CudaGraph *self) {
    check(self->stream == current, "Capture must end on the same stream it began on.");
    check(!cudaStreamEndCapture(current, &self->graph), "cudaStreamEndCapture failed");
    check(!cudaGraphInstantiateWithFlags(&self->executable, self->graph, 9), "cudaGraphInstantiateWithFlags failed");
    cudaGraphDestroy(self->graph);
}
void _ZN2at4cuda9CUDAGraph6replayEv(CudaGraph *self) {
    check(self->executable != NULL, "Called CUDAGraph::replay without a preceding successful capture.");
    check(!cudaGraphLaunch(self->executable, current), "cudaGraphLaunch failed");
}

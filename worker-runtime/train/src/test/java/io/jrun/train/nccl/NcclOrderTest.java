package io.jrun.train.nccl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.local.LocalWorld;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** In which order the GPU is asked for what, seen by libraries that do nothing but tell: no GPU is needed for that. */
@Timeout(120)
class NcclOrderTest {
    private static final int HOST_MEMORY = 0;
    private static final int DEVICE_MEMORY = 2;
    private static final int REMOTE_FAILURE = 6;
    private static final int UNLIMITED = -1;
    private static final String LIBRARY = """
            #define _GNU_SOURCE
            #include <stdio.h>
            #include <unistd.h>
            typedef struct { char internal[128]; } Id;
            static long made = 0x100;
            static __thread int failing;
            static __thread int allocated;
            static int make(void **place) { *place = (void *) __sync_add_and_fetch(&made, 1); return 0; }
            int cudaGetDeviceCount(int *count) { *count = 2; return 0; }
            int cudaSetDevice(int device) { return 0; }
            int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
                make(stream);
                dprintf(1, "stream %p flags %u\\n", *stream, flags);
                return 0;
            }
            int cudaStreamDestroy(void *stream) { return 0; }
            int cudaStreamQuery(void *stream) { dprintf(1, "host waits for %p\\n", stream); return failing ? 600 : 0; }
            static volatile char awaited[4096]; /* an event happens once a stream waits for it */
            int cudaEventQuery(void *event) { return awaited[(long) event & 4095] ? 0 : 600; }
            int cudaEventCreateWithFlags(void **event, unsigned flags) { return make(event); }
            int cudaEventDestroy(void *event) { dprintf(1, "destroy %p\\n", event); return 0; }
            int cudaEventRecord(void *event, void *stream) {
                dprintf(1, "record %p on %p\\n", event, stream);
                return 0;
            }
            int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
                dprintf(1, "%p awaits %p\\n", stream, event);
                awaited[(long) event & 4095] = 1;
                return 0;
            }
            int cudaMalloc(void **memory, size_t bytes) {
                if (allocated == ALLOCATIONS) return 2;
                allocated++;
                dprintf(1, "%d allocates\\n", gettid());
                return make(memory);
            }
            int cudaFree(void *memory) { dprintf(1, "%d frees\\n", gettid()); return 0; }
            int cudaHostAlloc(void **memory, size_t bytes, unsigned flags) { return make(memory); }
            int cudaFreeHost(void *memory) { return 0; }
            int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) { return 0; }
            int cudaPointerGetAttributes(int *attributes, const void *pointer) { *attributes = MEMORY; return 0; }
            int ncclGetVersion(int *version) { *version = 22304; return 0; }
            int ncclGetUniqueId(Id *id) { return 0; }
            int ncclCommInitRankConfig(void **comm, int size, Id id, int rank, void *config) { return make(comm); }
            int ncclCommGetAsyncError(void *comm, int *state) { *state = failing; return 0; }
            int ncclCommAbort(void *comm) { dprintf(1, "%d aborts\\n", gettid()); failing = 0; return 0; }
            int ncclGroupStart() { return 0; }
            int ncclGroupEnd() { return 0; }
            int ncclAllReduce(void *in, void *out, size_t count, int type, int op, void *comm, void *stream) {
                dprintf(1, "%p reduces\\n", stream);
                failing = ERROR;
                return 0;
            }
            int ncclBroadcast() { return 0; }
            int ncclReduce() { return 0; }
            int ncclAllGather() { return 0; }
            int ncclReduceScatter() { return 0; }
            int ncclSend() { return 0; }
            int ncclRecv() { return 0; }
            """;

    @TempDir
    private Path folder;

    /**
     * Reduces memory of a made-up address, which the libraries take for device memory: once without a wait on the host,
     * then asynchronously.
     */
    public static final class Reduces {
        private Reduces() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (ProcessGroup group = world.group()
                        .split(0, world.rank(), world.group().options().withBackend("nccl"))) {
                    MemorySegment memory = MemorySegment.ofAddress(0x10000).reinterpret(4000);
                    Device device = Device.cuda(world.localRank());
                    Buffer buffer = new Buffer(memory, DataType.F32, 1000, device);
                    group.allReduce(buffer, ReduceOp.SUM);
                    Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                    work.awaitOn(new DeviceStream(device, 0x77 + world.rank()));
                    work.await();
                    Work other = group.allReduceAsync(buffer, ReduceOp.SUM);
                    refused(() -> other.awaitOn(new DeviceStream(Device.cuda(5), 0)));
                    other.awaitOn(DeviceStream.defaultOf(device));
                    refused(() ->
                            group.allReduce(new Buffer(memory, DataType.F32, 1000, Device.cuda(5)), ReduceOp.SUM));
                    MemorySegment all = MemorySegment.ofAddress(0x20000).reinterpret(8000);
                    group.allGatherV(buffer, new Buffer(all, DataType.F32, 2000, device), 1000, 1000);
                }
            });
        }

        private static void refused(Runnable call) {
            try {
                call.run();
            } catch (CommException refusal) {
                System.out.println(refusal.code() + " " + refusal.getMessage());
            }
        }
    }

    /** Reduces memory of its own and says what came of it. */
    public static final class Fails {
        private Fails() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (ProcessGroup group = world.group()
                        .split(0, world.rank(), world.group().options().withBackend("nccl"))) {
                    group.allReduce(MemorySegment.ofArray(new float[1000]), DataType.F32, 1000, ReduceOp.SUM);
                } catch (CommException failure) {
                    System.out.println(failure.getMessage());
                }
            });
        }
    }

    /** Gathers memory of its own, for which it takes a copy of the input and one of the output. */
    public static final class Gathers {
        private Gathers() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (ProcessGroup group = world.group()
                        .split(0, world.rank(), world.group().options().withBackend("nccl"))) {
                    MemorySegment mine = MemorySegment.ofArray(new float[1000]);
                    group.allGather(mine, MemorySegment.ofArray(new float[2000]), DataType.F32, 1000);
                } catch (CommException failure) {
                    System.out.println(failure.getMessage());
                }
            });
        }
    }

    @Test
    void whereTheDeviceIsFullWhatWasTakenOfItIsGivenBack() throws Exception {
        List<String> lines = run(Gathers.class, HOST_MEMORY, 0, 1);
        assertThat(lines).anyMatch(line -> line.contains("cudaMalloc of 8000 bytes failed with CUDA error 2"));
        List<String> allocating = lines.stream()
                .filter(line -> line.endsWith(" allocates"))
                .map(line -> line.split(" ", -1)[0])
                .toList();
        assertThat(allocating).as(String.join("\n", lines)).isNotEmpty();
        for (String thread : allocating) {
            assertThat(lines).containsSubsequence(thread + " allocates", thread + " frees");
        }
    }

    @Test
    void eventsOrderAnOperationOnDeviceMemoryAndTheHostWaitsForNoStream() throws Exception {
        List<String> lines = run(Reduces.class, DEVICE_MEMORY, 0, UNLIMITED);
        String all = String.join("\n", lines);
        List<String> streams = lines.stream()
                .filter(line -> line.startsWith("stream "))
                .map(line -> line.split(" ", -1)[1])
                .toList();
        assertThat(streams).as(all).hasSize(2);
        for (String stream : streams) {
            assertThat(lines).contains("stream " + stream + " flags 1"); // it holds up no other stream
            List<String> before = words(lines, line -> line.startsWith(stream + " awaits "), 2);
            List<String> ends = words(lines, line -> line.startsWith("record ") && line.endsWith(" on " + stream), 1);
            assertThat(before).as(all).hasSize(4); // three reductions and a gather
            assertThat(ends).as(all).hasSize(4);
            assertThat(lines)
                    .as(all)
                    .containsSubsequence(
                            "record " + before.get(0) + " on (nil)",
                            stream + " awaits " + before.get(0),
                            stream + " reduces",
                            "record " + ends.get(0) + " on " + stream,
                            "(nil) awaits " + ends.get(0),
                            "record " + before.get(1) + " on (nil)",
                            stream + " awaits " + before.get(1),
                            stream + " reduces",
                            "record " + ends.get(1) + " on " + stream);
            assertThat(lines).as(all).doesNotContain("(nil) awaits " + ends.get(1));
            assertThat(lines.stream().filter(line -> line.matches("0x7[78] awaits " + ends.get(1))))
                    .as(all)
                    .hasSize(1);
            assertThat(ends).allSatisfy(end -> assertThat(lines).as(all).contains("destroy " + end));
        }
        assertThat(lines).as(all).noneMatch(line -> line.startsWith("host waits"));
        assertThat(lines)
                .anyMatch(line -> line.startsWith("USAGE awaitOn: the stream is of the device cuda:5, but"))
                .anyMatch(line -> line.startsWith("USAGE allReduce: the buffer is on the device cuda:5, but the backend"
                        + " nccl of this group of 2 cannot use memory of that device."));
    }

    private static List<String> words(List<String> lines, Predicate<String> which, int word) {
        return lines.stream()
                .filter(which)
                .map(line -> line.split(" ", -1)[word])
                .toList();
    }

    @Test
    void aFailedCommunicatorIsAbortedBeforeAnythingWaitsForItsKernel() throws Exception {
        List<String> lines = run(Fails.class, HOST_MEMORY, REMOTE_FAILURE, UNLIMITED);
        assertThat(lines).anyMatch(line -> line.contains("allReduce failed with NCCL error 6"));
        List<String> aborting = lines.stream()
                .filter(line -> line.endsWith(" aborts"))
                .map(line -> line.split(" ", -1)[0])
                .toList();
        assertThat(aborting).as(String.join("\n", lines)).isNotEmpty();
        for (String thread : aborting) {
            assertThat(lines.stream().filter(line -> line.startsWith(thread + " ") && !line.endsWith(" allocates")))
                    .as(String.join("\n", lines))
                    .startsWith(thread + " aborts", thread + " frees");
        }
    }

    private List<String> run(Class<?> program, int memory, int error, int allocations) throws Exception {
        compile("libnccl.so.2", memory, error, allocations);
        Files.copy(folder.resolve("libnccl.so.2"), folder.resolve("libcudart.so.13"));
        ProcessBuilder java = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName());
        java.environment().put("LD_LIBRARY_PATH", folder.toString());
        return run(java);
    }

    private void compile(String library, int memory, int error, int allocations) throws Exception {
        Path source = Files.writeString(folder.resolve("calls.c"), LIBRARY);
        ProcessBuilder compiler = new ProcessBuilder(
                "cc",
                "-shared",
                "-fPIC",
                "-DMEMORY=" + memory,
                "-DERROR=" + error,
                "-DALLOCATIONS=" + allocations,
                "-o",
                folder.resolve(library).toString(),
                source.toString());
        try {
            run(compiler);
        } catch (IOException none) {
            assumeTrue(false, "skipped: no C compiler here (" + none.getMessage() + ")");
        }
    }

    private List<String> run(ProcessBuilder command) throws Exception {
        Path output = folder.resolve("output");
        Process process = command.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(60, TimeUnit.SECONDS))
                    .as("end of " + command.command())
                    .isTrue();
            List<String> lines = Files.readAllLines(output, UTF_8);
            assertThat(process.exitValue()).as(String.join("\n", lines)).isZero();
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}

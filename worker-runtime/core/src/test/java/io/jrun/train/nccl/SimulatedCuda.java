package io.jrun.train.nccl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.train.JavaProcess;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * The CUDA and NCCL of {@code scripts/testbed/cuda}. A test starts a JVM with {@link #start}, and a program in this JVM
 * controls its devices with the other methods. A machine without a C compiler skips the test.
 */
public final class SimulatedCuda {
    private static final Path ROOT = Path.of(Objects.requireNonNull(System.getProperty("jrun.root", "../..")));
    private static final String RUNTIME = "libcudart.so.13";
    private static final int NON_BLOCKING = 1;

    private SimulatedCuda() {}

    /** The folder of the libraries for LD_LIBRARY_PATH. The first test of a checkout builds the libraries. */
    public static Path folder() throws IOException, InterruptedException {
        Path folder = ROOT.resolve("target/simulated-cuda").toAbsolutePath().normalize();
        Path messages = Files.createTempFile("cuda", ".txt");
        try {
            Process build = new ProcessBuilder(
                            ROOT.resolve("scripts/testbed/cuda").toString(), "build", folder.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(messages.toFile())
                    .start();
            assertThat(build.waitFor(60, TimeUnit.SECONDS)).isTrue();
            String printed = Files.readString(messages);
            assumeTrue(build.exitValue() != 2, "skipped: " + printed);
            assertThat(build.exitValue()).as(printed).isZero();
            return folder;
        } finally {
            Files.delete(messages);
        }
    }

    /**
     * Starts a JVM that uses the libraries.
     *
     * @param folder folder for the output of the JVM, and for its log {@code calls.log}
     * @param settings variables that {@code scripts/testbed/cuda} describes
     */
    public static JavaProcess start(Path folder, Class<?> main, Map<String, String> settings, String... arguments)
            throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>();
        environment.put("LD_LIBRARY_PATH", folder().toString());
        environment.put("SIMCUDA_LOG", folder.resolve("calls.log").toString());
        environment.putAll(settings);
        // A JVM that reads device memory ends with SIGSEGV.
        List<String> options = List.of("-XX:ErrorFile=" + folder.resolve("hs_err.log"), "-XX:-CreateCoredumpOnCrash");
        return JavaProcess.start(folder, main, options, environment, arguments);
    }

    /**
     * A line of the log.
     *
     * @param thread name of the thread, at most 15 characters; {@code java} for the main thread
     * @param device current device of the thread
     * @param text the function and its arguments
     */
    public record LoggedCall(long process, long threadId, String thread, int device, String text) {
        @Override
        public String toString() {
            return process + " " + threadId + " [" + thread + "] device " + device + ": " + text;
        }
    }

    /** The calls of the JVMs that {@link #start} has started with this folder, in order. */
    public static List<LoggedCall> calls(Path folder) throws IOException {
        return Files.readAllLines(folder.resolve("calls.log")).stream()
                .map(line -> line.split("\t", 5))
                .map(words -> new LoggedCall(
                        Long.parseLong(words[0]),
                        Long.parseLong(words[1]),
                        words[2],
                        Integer.parseInt(words[3]),
                        words[4]))
                .toList();
    }

    /** Makes a stream that does not wait for the default stream, as a program does with a stream of its own. */
    public static DeviceStream stream(Device device) {
        require(call("cudaSetDevice", List.of(JAVA_INT), device.index()));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            require(call("cudaStreamCreateWithFlags", List.of(ADDRESS, JAVA_INT), place, NON_BLOCKING));
            return new DeviceStream(device, place.get(ADDRESS, 0).address());
        }
    }

    /** Fails if a function has failed on this thread, and nobody has asked for the code. */
    public static void requireNoLastError() {
        require(call("cudaGetLastError", List.of()));
    }

    /** Queues a pause of a stream, in place of a kernel that runs for this time. */
    public static void delay(DeviceStream stream, Duration time) {
        require(call("cudaSetDevice", List.of(JAVA_INT), stream.device().index()));
        require(call(
                "simcuda_delay",
                List.of(JAVA_LONG, JAVA_LONG),
                stream.handle(),
                TimeUnit.NANOSECONDS.toMicros(time.toNanos())));
    }

    /** Queues a pause of a stream until {@link #release}. */
    public static void hold(DeviceStream stream) {
        require(call("cudaSetDevice", List.of(JAVA_INT), stream.device().index()));
        require(call("simcuda_hold", List.of(JAVA_LONG), stream.handle()));
    }

    /** Ends all pauses of {@link #hold}. */
    public static void release() {
        require(call("simcuda_release", List.of()));
    }

    /** Queues a copy of memory of the host or of a device, on any stream. */
    public static void copy(MemorySegment to, MemorySegment from, DeviceStream stream) {
        int byAddress = 4;
        require(call("cudaSetDevice", List.of(JAVA_INT), stream.device().index()));
        require(call(
                "cudaMemcpyAsync",
                List.of(ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG),
                to,
                from,
                from.byteSize(),
                byAddress,
                stream.handle()));
    }

    /** Waits until a device has done its work. */
    public static void synchronize(Device device) {
        require(call("cudaSetDevice", List.of(JAVA_INT), device.index()));
        require(call("cudaDeviceSynchronize", List.of()));
    }

    /** Queues a call of Java on a stream. Later work of the stream waits for the end of the call. */
    public static void call(DeviceStream stream, Runnable action) {
        require(call("cudaSetDevice", List.of(JAVA_INT), stream.device().index()));
        try {
            MethodHandle run = MethodHandles.dropArguments(
                    MethodHandles.publicLookup()
                            .findVirtual(Runnable.class, "run", MethodType.methodType(void.class))
                            .bindTo(action),
                    0,
                    MemorySegment.class);
            MemorySegment stub =
                    Linker.nativeLinker().upcallStub(run, FunctionDescriptor.ofVoid(ADDRESS), Arena.global());
            require(call(
                    "cudaLaunchHostFunc",
                    List.of(JAVA_LONG, ADDRESS, ADDRESS),
                    stream.handle(),
                    stub,
                    MemorySegment.NULL));
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(String.valueOf(e.getMessage()), e);
        }
    }

    /** The answer of {@code cudaStreamQuery}: 0 if the stream has run its work, 600 if not. */
    public static int query(DeviceStream stream) {
        require(call("cudaSetDevice", List.of(JAVA_INT), stream.device().index()));
        return call("cudaStreamQuery", List.of(JAVA_LONG), stream.handle());
    }

    /** Changes a setting of this process, see {@code scripts/testbed/cuda}. */
    public static void set(String name, String value) {
        try (Arena arena = Arena.ofConfined()) {
            require(call(
                    "simcuda_set", List.of(ADDRESS, ADDRESS), arena.allocateFrom(name), arena.allocateFrom(value)));
        }
    }

    /** The bytes of device memory that this process holds. */
    public static long allocatedBytes() {
        try {
            return (long) Linker.nativeLinker()
                    .downcallHandle(find("simcuda_allocated"), FunctionDescriptor.of(JAVA_LONG))
                    .invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void require(int code) {
        assertThat(code).as("CUDA error").isZero();
    }

    private static int call(String function, List<MemoryLayout> types, Object... arguments) {
        FunctionDescriptor form = FunctionDescriptor.of(JAVA_INT, types.toArray(MemoryLayout[]::new));
        try {
            return (int)
                    Linker.nativeLinker().downcallHandle(find(function), form).invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MemorySegment find(String function) {
        return SymbolLookup.libraryLookup(RUNTIME, Arena.global())
                .find(function)
                .orElseThrow(() -> new AssertionError("these are not the simulated libraries: no " + function));
    }
}

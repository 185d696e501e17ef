package io.jrun.agent.nvml;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * NVML of this machine, with a deadline for each call. One thread makes all calls. After the first failure or missed
 * deadline no further call is made, and every method reports the first failure. The first call opens the library, and
 * {@link #close} releases the GPUs. Thread-safe.
 */
public final class BoundedNvml implements AutoCloseable {
    /** The driver makes the state of a GPU without persistence mode in one to two seconds. */
    private static final Duration FIRST_ANSWER = Duration.ofSeconds(20);

    private static final Duration ANSWER = Duration.ofSeconds(5);

    private static final String LIBRARY = "libnvidia-ml.so.1";

    private final String library;
    private final Duration firstAnswer;
    private final Duration answer;
    private final LinkedBlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
    private @Nullable Nvml open; // of the thread of the calls
    private @Nullable NvmlException failure;
    private boolean isStarted;
    private boolean hasAnswered;

    BoundedNvml(String library, Duration firstAnswer, Duration answer) {
        this.library = library;
        this.firstAnswer = firstAnswer;
        this.answer = answer;
    }

    /** The NVML of this machine; empty on a machine without NVIDIA's driver. */
    public static Optional<BoundedNvml> here() {
        return Files.exists(Path.of("/dev/nvidiactl"))
                ? Optional.of(new BoundedNvml(LIBRARY, FIRST_ANSWER, ANSWER))
                : Optional.empty();
    }

    /** The version of the driver; empty if unknown. Blocks until the deadline at most, as all methods do. */
    public String driver() throws NvmlException, InterruptedException {
        return call(Nvml::driver);
    }

    /** The GPUs that this process may open. */
    public List<NvmlGpu> gpus() throws NvmlException, InterruptedException {
        return call(Nvml::gpus);
    }

    /** The load of the GPUs and MIG slices that {@code entries} name, as in CUDA_VISIBLE_DEVICES. */
    public List<NvmlReading> read(List<String> entries) throws NvmlException, InterruptedException {
        return call(nvml -> nvml.read(entries));
    }

    /** The paths between all pairs of GPUs. */
    public List<NvmlLink> links() throws NvmlException, InterruptedException {
        return call(Nvml::links);
    }

    /** Releases the GPUs in the background, after the call that runs. A call that waits or comes later fails. */
    @Override
    public synchronized void close() {
        var _ = failed(new NvmlException("closed"));
        calls.add(() -> Thread.currentThread().interrupt());
    }

    @FunctionalInterface
    private interface NvmlCall<T> {
        T of(Nvml nvml) throws NvmlException;
    }

    private <T> T call(NvmlCall<T> call) throws NvmlException, InterruptedException {
        CompletableFuture<T> result = new CompletableFuture<>();
        Duration limit = begin(() -> run(call, result));
        try {
            T value = result.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            answered();
            return value;
        } catch (ExecutionException e) {
            throw failed(
                    e.getCause() instanceof NvmlException refused
                            ? refused
                            : new NvmlException("the call failed: " + e.getCause()));
        } catch (TimeoutException e) {
            throw failed(new NvmlException(
                    "no answer within " + seconds(limit) + " s; the driver may hang, see" + " nvidia-smi and dmesg"));
        }
    }

    private static String seconds(Duration limit) {
        return limit.toMillisPart() == 0
                ? Long.toString(limit.toSeconds())
                : Double.toString(limit.toMillis() / 1000.0);
    }

    private synchronized Duration begin(Runnable task) throws NvmlException {
        if (failure != null) {
            throw failure;
        }
        if (!isStarted) {
            isStarted = true;
            Thread.ofPlatform().daemon().name("jrun-nvml").start(this::runCalls);
        }
        calls.add(task);
        return hasAnswered ? answer : firstAnswer;
    }

    private synchronized void answered() {
        hasAnswered = true;
    }

    private synchronized NvmlException failed(NvmlException first) {
        if (failure == null) {
            failure = first;
        }
        return failure;
    }

    private void runCalls() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                calls.take().run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (open != null) {
                open.close();
            }
        }
    }

    private <T> void run(NvmlCall<T> call, CompletableFuture<T> result) {
        try {
            Nvml nvml = open;
            if (nvml == null) {
                nvml = Nvml.open(library);
                open = nvml;
            }
            result.complete(call.of(nvml));
        } catch (NvmlException | RuntimeException | LinkageError e) {
            result.completeExceptionally(e);
        }
    }
}

package io.jrun.bench.collective;

import com.sun.management.ThreadMXBean;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.json.JsonWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Measures the memory of an all-reduce on registered memory besides its buffers: Java heap for each call, and memory of
 * the process.
 */
@Command(
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description =
                "The memory of allReduce on registered memory besides its buffers, on the rank with the most, as a JSON"
                        + " object: allocatedBytesPerCall of Java heap, and extraBytes by which the process grows"
                        + " over the calls.")
final class MemoryBench implements Benchmark {
    private static final long WARM_UP_COUNT = 1024;
    private static final int HEX = 16;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--bytes",
            paramLabel = "BYTES",
            defaultValue = "64M",
            converter = ByteSize.Converter.class,
            description = "size of the buffer")
    private ByteSize bytes = new ByteSize(1);

    @Option(names = "--calls", paramLabel = "N", defaultValue = "50", description = "number of measured calls")
    private int calls = 1;

    @Option(
            names = "--warmup-iters",
            paramLabel = "N",
            defaultValue = "500000",
            description = "small calls before the measured calls, so that the JIT has compiled the code")
    private int warmupIters = 1;

    @Option(
            names = "--max-seconds",
            paramLabel = "N",
            defaultValue = "120",
            description =
                    "longest time; when it has passed, the command shows what it has measured. The small calls take"
                            + " at most half of it")
    private int maxSeconds = 1;

    @Override
    public void check() {
        OptionLimits.check(spec, "--calls", calls, 1, OptionLimits.MOST_CALLS);
        OptionLimits.check(spec, "--warmup-iters", warmupIters, 1, Integer.MAX_VALUE);
        OptionLimits.check(spec, "--max-seconds", maxSeconds, 1, TimeUnit.DAYS.toSeconds(1));
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init();
                CallProgress progress = new CallProgress(world.rank() == 0, Duration.ofSeconds(maxSeconds))) {
            OptionLimits.checkMemory("--bytes", bytes.bytes(), 1, world);
            ProcessGroup group = world.group();
            MemorySegment buffer = group.allocate(Math.max(Float.BYTES, bytes.bytes()));
            buffer.fill((byte) 0);
            long nanos = TimeUnit.SECONDS.toNanos(maxSeconds);
            long count = Math.max(1, bytes.bytes() / Float.BYTES);
            progress.begin("small", warmupIters);
            int small = reduce(group, buffer, Math.min(WARM_UP_COUNT, count), warmupIters, nanos / 2, progress);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long shared = sharedBytes();
            progress.begin("large", 2L * calls); // The JVM also takes memory once, for the code of large calls.
            int unmeasured = reduce(group, buffer, count, calls, nanos / 4, progress);
            long anonymous = anonymousBytes();
            long allocated = threads.getCurrentThreadAllocatedBytes();
            int measured = reduce(group, buffer, count, calls, nanos / 4, progress);
            allocated = threads.getCurrentThreadAllocatedBytes() - allocated;
            long taken = Math.max(0, anonymousBytes() - anonymous) + sharedBytes() - shared;
            long[] most = {allocated / measured, taken};
            group.allReduce(MemorySegment.ofArray(most), DataType.I64, most.length, ReduceOp.MAX);
            if (world.rank() == 0) {
                if (small < warmupIters || unmeasured + measured < 2L * calls) {
                    System.err.println(
                            "jrun bench memory: the time of --max-seconds=" + maxSeconds + " has passed after "
                                    + small + " of " + warmupIters + " small and " + (unmeasured + measured) + " of "
                                    + 2L * calls
                                    + " large calls. Fewer small calls leave code that the JIT has not compiled.");
                }
                Map<String, Object> object = new LinkedHashMap<>();
                object.put("op", "allreduce");
                object.put("ranks", world.size());
                object.put("bytes", bytes.bytes());
                object.put("smallCalls", small);
                object.put("calls", measured);
                object.put("allocatedBytesPerCall", most[0]);
                object.put("extraBytes", most[1]);
                System.out.println(JsonWriter.write(object));
            }
        }
    }

    /**
     * Calls until the calls are made or the time of one rank has passed, and returns their number, which is equal on all
     * ranks: the first element of the sum counts the ranks whose time has passed. At least one call.
     */
    private static int reduce(
            ProcessGroup group, MemorySegment buffer, long count, int calls, long nanos, CallProgress progress) {
        long start = System.nanoTime();
        for (int call = 1; call < calls; call++) {
            boolean hasPassed = System.nanoTime() - start > nanos;
            buffer.set(ValueLayout.JAVA_FLOAT, 0, hasPassed ? 1 : 0);
            group.allReduce(buffer, DataType.F32, count, ReduceOp.SUM);
            progress.add();
            if (buffer.get(ValueLayout.JAVA_FLOAT, 0) > 0) {
                return call;
            }
        }
        buffer.set(ValueLayout.JAVA_FLOAT, 0, 0);
        group.allReduce(buffer, DataType.F32, count, ReduceOp.SUM);
        progress.add();
        return calls;
    }

    private static long anonymousBytes() {
        return lines("/proc/self/status")
                .filter(line -> line.startsWith("RssAnon:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                .sum();
    }

    /** Returns the bytes of all of jrun's segments that this process has mapped. */
    private static long sharedBytes() {
        return lines("/proc/self/maps")
                .filter(line -> line.contains("/dev/shm/jrun"))
                .map(line -> line.substring(0, line.indexOf(' ')).split("-"))
                .mapToLong(range -> Long.parseUnsignedLong(range[1], HEX) - Long.parseUnsignedLong(range[0], HEX))
                .sum();
    }

    private static Stream<String> lines(String file) {
        try {
            return Files.readAllLines(Path.of(file)).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

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
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

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

    @Override
    public void check() {}

    @Override
    public void run() {
        try (World world = Distributed.init()) {
            ProcessGroup group = world.group();
            MemorySegment buffer = group.allocate(bytes.bytes());
            buffer.fill((byte) 0);
            reduce(group, buffer, WARM_UP_COUNT, warmupIters);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long count = bytes.bytes() / Float.BYTES;
            long shared = sharedBytes();
            reduce(group, buffer, count, calls); // The JVM also takes memory once, for the code of large calls.
            long anonymous = anonymousBytes();
            long allocated = threads.getCurrentThreadAllocatedBytes();
            reduce(group, buffer, count, calls);
            allocated = threads.getCurrentThreadAllocatedBytes() - allocated;
            long taken = Math.max(0, anonymousBytes() - anonymous) + sharedBytes() - shared;
            long[] most = {allocated / calls, taken};
            group.allReduce(MemorySegment.ofArray(most), DataType.I64, most.length, ReduceOp.MAX);
            if (world.rank() == 0) {
                Map<String, Object> object = new LinkedHashMap<>();
                object.put("op", "allreduce");
                object.put("ranks", world.size());
                object.put("bytes", bytes.bytes());
                object.put("allocatedBytesPerCall", most[0]);
                object.put("extraBytes", most[1]);
                System.out.println(JsonWriter.write(object));
            }
        }
    }

    private static void reduce(ProcessGroup group, MemorySegment buffer, long count, int calls) {
        for (int call = 0; call < calls; call++) {
            group.allReduce(buffer, DataType.F32, count, ReduceOp.SUM);
        }
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

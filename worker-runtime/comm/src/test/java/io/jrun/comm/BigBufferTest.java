package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Buffers of more bytes than an int counts, compared completely. */
@Timeout(300)
@EnabledIfSystemProperty(named = "jrun.soak", matches = "true", disabledReason = "moves tens of gigabytes")
class BigBufferTest {
    private static final long COUNT = (1L << 29) + 1025;
    private static final long BYTES = COUNT * Float.BYTES;
    private static final long NEEDED = 3 * 2 * BYTES;

    /** Odd, so that data at a wrong power of two is wrong data. */
    private static final int PERIOD = 1021;

    private static final int PERIODS = 1024;

    @ParameterizedTest(name = "{0}, registered: {1}")
    @CsvSource({"SHM, true", "SHM, false", "TCP, false"})
    void moreThanTwoGibibytesAreExact(TransportKind transport, boolean isRegistered) throws IOException {
        assumeTrue(availableBytes() > NEEDED, "needs " + NEEDED + " bytes of memory, has " + availableBytes());
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(2).withTransport(transport).withTimeout(Duration.ofMinutes(2));
        LocalWorld.run(options, world -> {
            try (Arena arena = Arena.ofShared()) {
                ProcessGroup group = world.group();
                MemorySegment buffer = isRegistered ? group.allocate(BYTES) : arena.allocate(BYTES, 64);

                fill(buffer, world.rank(), 1);
                group.allReduce(buffer, DataType.F32, COUNT, ReduceOp.SUM);
                assertPattern(buffer, 1, 2, "allReduce");

                fill(buffer, 5 + world.rank(), 3);
                group.broadcast(buffer, DataType.F32, COUNT, 1);
                assertPattern(buffer, 6, 3, "broadcast");

                fill(buffer, 7 + world.rank(), 2);
                MemorySegment own = buffer.asSlice((long) world.rank() * Float.BYTES);
                group.allGatherV(own, buffer, DataType.F32, 1, COUNT - 1);
                buffer.set(ValueLayout.JAVA_FLOAT, 0, buffer.get(ValueLayout.JAVA_FLOAT, 0) + 1); // Rank 0's.
                assertPattern(buffer, 8, 2, "allGatherV");

                fill(buffer, 9, 1);
                if (world.rank() == 0) {
                    group.messages().send(buffer, DataType.F32, COUNT, 1, 4);
                } else {
                    buffer.fill((byte) 0);
                    group.messages().recv(buffer, DataType.F32, COUNT, Messages.ANY_SOURCE, 4);
                    assertPattern(buffer, 9, 1, "message");
                }
                group.barrier();
            }
        });
    }

    /** Element i is {@code offset + factor * (i % PERIOD)}. */
    private static MemorySegment pattern(int offset, int factor) {
        float[] block = new float[PERIOD * PERIODS];
        for (int i = 0; i < block.length; i++) {
            block[i] = offset + factor * (i % PERIOD);
        }
        return MemorySegment.ofArray(block);
    }

    private static void fill(MemorySegment buffer, int offset, int factor) {
        MemorySegment pattern = pattern(offset, factor);
        for (long at = 0; at < BYTES; at += pattern.byteSize()) {
            MemorySegment.copy(pattern, 0, buffer, at, Math.min(pattern.byteSize(), BYTES - at));
        }
    }

    private static void assertPattern(MemorySegment buffer, int offset, int factor, String what) {
        MemorySegment pattern = pattern(offset, factor);
        for (long at = 0; at < BYTES; at += pattern.byteSize()) {
            long length = Math.min(pattern.byteSize(), BYTES - at);
            assertThat(MemorySegment.mismatch(pattern, 0, length, buffer, at, at + length))
                    .as("first wrong byte of %s after byte %d", what, at)
                    .isEqualTo(-1);
        }
    }

    private static long availableBytes() throws IOException {
        long kibibytes = Files.readAllLines(Path.of("/proc/meminfo")).stream()
                .filter(line -> line.startsWith("MemAvailable:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElse(0);
        return Math.min(kibibytes << 10, Files.getFileStore(Path.of("/dev/shm")).getUsableSpace());
    }
}

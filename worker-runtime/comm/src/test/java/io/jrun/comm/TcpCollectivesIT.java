package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CollectiveMatrix.Buffers;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;

@ExtendWith(StopAfterFailure.class)
class TcpCollectivesIT {
    private static final int COUNT = 65537;
    private static final int SEED = 20;

    private static LocalWorldOptions options(int size, TransportKind transport) {
        return LocalWorldOptions.ofSize(size).withTransport(transport).withTimeout(Duration.ofSeconds(20));
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @SampledCases(
            count = 5,
            value = {
                "1, NATIVE",
                "2, NATIVE",
                "3, NATIVE",
                "4, NATIVE",
                "5, NATIVE",
                "2, HEAP",
                "3, HEAP",
                "5, HEAP",
                "3, REGISTERED"
            })
    void everyOperationIsExact(int size, Buffers buffers) {
        LocalWorld.run(options(size, TransportKind.TCP), world -> CollectiveMatrix.run(world, buffers));
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @SampledCases(
            count = 1,
            value = {"2, NATIVE", "3, HEAP"})
    void everyOperationIsExactInsideTls(int size, Buffers buffers) {
        LocalWorldOptions options = options(size, TransportKind.TCP).withTcp(TcpOptions.DEFAULT.withEncrypted(true));
        List<DataType> types = Seeds.sample(List.of(DataType.BF16, DataType.I64), 1); // TLS sees bytes.
        List<Long> counts = CollectiveMatrix.counts(size);
        LocalWorld.run(options, world -> CollectiveMatrix.run(world.group(), buffers, counts, types));
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @SampledCases(
            count = 4,
            value = {"2, F32", "3, F32", "5, F32", "3, F16", "5, F16", "3, BF16", "5, BF16"})
    void deterministicModeGivesTheBitsOfSharedMemoryForAnySplit(int size, DataType type) {
        List<MemorySegment> results = List.of(
                deterministicSum(size, type, TransportKind.SHM, COUNT),
                deterministicSum(size, type, TransportKind.TCP, COUNT),
                deterministicSum(size, type, TransportKind.TCP, 1000),
                deterministicSum(size, type, TransportKind.TCP, 40_000));

        for (MemorySegment result : results) {
            assertThat(result.mismatch(results.getFirst())).isEqualTo(-1);
        }
    }

    /** The average of random floats over {@code size} ranks, reduced in buckets of {@code bucket} elements. */
    private static MemorySegment deterministicSum(int size, DataType type, TransportKind transport, int bucket) {
        List<MemorySegment> results = new CopyOnWriteArrayList<>();
        LocalWorld.run(options(size, transport).withDeterministic(true), world -> {
            Elements elements = new Elements(type);
            MemorySegment buffer = elements.heap(COUNT);
            Random random = new Random(SEED + world.rank());
            for (int at = 0; at < COUNT; at++) {
                elements.setFloat(buffer, at, (float) (random.nextGaussian() * 1e3));
            }
            for (int from = 0; from < COUNT; from += bucket) {
                int length = Math.min(bucket, COUNT - from);
                MemorySegment slice = buffer.asSlice((long) from * type.sizeBytes(), (long) length * type.sizeBytes());
                world.group().allReduce(slice, type, length, ReduceOp.AVG);
            }
            results.add(buffer);
        });
        MemorySegment first = results.getFirst();
        assertThat(results)
                .hasSize(size)
                .allSatisfy(result -> assertThat(result.mismatch(first)).isEqualTo(-1));
        return first;
    }
}

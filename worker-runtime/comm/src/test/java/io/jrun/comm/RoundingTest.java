package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What reductions of random numbers round to, against a serial sum. */
class RoundingTest {
    private static final int COUNT = 20_000;
    private static final int SEED = 50;

    private static LocalWorldOptions options(int size, TransportKind transport) {
        return LocalWorldOptions.ofSize(size).withTransport(transport).withTimeout(Duration.ofSeconds(60));
    }

    /** Every rank's contribution: numbers of very different sizes, so that the order and width of the sum show. */
    private static MemorySegment[] contributions(Elements elements, int size, int count) {
        MemorySegment[] all = new MemorySegment[size];
        for (int rank = 0; rank < size; rank++) {
            Random random = new Random(SEED + rank);
            all[rank] = elements.heap(count);
            for (int at = 0; at < count; at++) {
                elements.setFloat(all[rank], at, (float) Math.scalb(random.nextGaussian(), random.nextInt(12) - 8));
            }
        }
        return all;
    }

    private static MemorySegment copy(Elements elements, MemorySegment data, int count) {
        return elements.heap(count).copyFrom(data);
    }

    @ParameterizedTest(name = "{0}, {1}, {2} ranks, deterministic: {3}")
    @CsvSource({
        "F16, SHM, 2, false",
        "F16, SHM, 5, false",
        "F16, TCP, 5, true",
        "BF16, SHM, 3, false",
        "BF16, SHM, 5, false",
        "BF16, TCP, 5, true"
    })
    void halvesAreRoundedOncePerElement(DataType type, TransportKind transport, int size, boolean deterministic) {
        Elements elements = new Elements(type);
        MemorySegment[] inputs = contributions(elements, size, COUNT);
        MemorySegment expected = elements.heap(COUNT);
        for (int at = 0; at < COUNT; at++) {
            float sum = elements.get(inputs[0], at).floatValue();
            for (int rank = 1; rank < size; rank++) {
                sum += elements.get(inputs[rank], at).floatValue();
            }
            elements.setFloat(expected, at, sum / size);
        }
        LocalWorld.run(options(size, transport).withDeterministic(deterministic), world -> {
            MemorySegment heap = copy(elements, inputs[world.rank()], COUNT);
            world.group().allReduce(heap, type, COUNT, ReduceOp.AVG);
            assertThat(heap.mismatch(expected)).isEqualTo(-1);

            MemorySegment registered = world.group().allocate(heap.byteSize());
            registered.copyFrom(inputs[world.rank()]);
            world.group().allReduce(registered, type, COUNT, ReduceOp.AVG);
            assertThat(registered.mismatch(expected)).isEqualTo(-1);
        });
    }

    /** 1000 elements take recursive doubling, 100 000 halving and doubling, 400 000 the ring. */
    @ParameterizedTest(name = "{0}, {1}, {2} ranks, {3} elements")
    @CsvSource({
        "F32, TCP, 5, 1000",
        "F32, TCP, 5, 100000",
        "F32, TCP, 3, 400000",
        "F32, SHM, 4, 100000",
        "F16, TCP, 5, 1000",
        "F16, TCP, 5, 100000",
        "F16, TCP, 3, 400000",
        "F16, SHM, 4, 100000",
        "BF16, TCP, 5, 1000",
        "BF16, TCP, 5, 100000",
        "BF16, TCP, 3, 400000",
        "BF16, SHM, 4, 100000"
    })
    void sumsKeepTheBoundOfAnyOrderOfAddition(DataType type, TransportKind transport, int size, int count) {
        Elements elements = new Elements(type);
        MemorySegment[] inputs = contributions(elements, size, count);
        double[] sums = new double[count];
        double[] magnitudes = new double[count];
        for (MemorySegment input : inputs) {
            for (int at = 0; at < count; at++) {
                double value = elements.get(input, at).doubleValue();
                sums[at] += value;
                magnitudes[at] += Math.abs(value);
            }
        }
        double bound = Math.pow(1 + relativeError(type), size - 1) - 1;
        LocalWorld.run(options(size, transport), world -> {
            MemorySegment buffer = copy(elements, inputs[world.rank()], count);
            world.group().allReduce(buffer, type, count, ReduceOp.SUM);
            for (int at = 0; at < count; at++) {
                double error = Math.abs(elements.get(buffer, at).doubleValue() - sums[at]);
                if (error > bound * magnitudes[at]) {
                    assertThat(error)
                            .as("error of element %d, a sum of %s", at, sums[at])
                            .isLessThanOrEqualTo(bound * magnitudes[at]);
                }
            }
        });
    }

    /** Of one addition: rounding to binary32, then to the type. */
    private static double relativeError(DataType type) {
        double wide = 0x1p-24;
        return switch (type) {
            case F16 -> (1 + wide) * (1 + 0x1p-11) - 1;
            case BF16 -> (1 + wide) * (1 + 0x1p-8) - 1;
            default -> wide;
        };
    }
}

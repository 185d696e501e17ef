package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.nio.DoubleBuffer;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rounding of reductions of random numbers, compared with a serial sum. */
class RoundingTest {
    private static final int COUNT = 20_000;
    private static final int SEED = 50;

    /** Every rank's contribution: numbers of very different sizes, so that the order and width of the sum show. */
    private static MemorySegment[] contributions(Elements elements, int size, int count) {
        MemorySegment[] all = new MemorySegment[size];
        for (int rank = 0; rank < size; rank++) {
            Random random = new Random(SEED + rank);
            all[rank] = elements.heap(count);
            for (int at = 0; at < count; at++) {
                elements.setReal(all[rank], at, Math.scalb(random.nextGaussian(), random.nextInt(12) - 8));
            }
        }
        return all;
    }

    private static MemorySegment copy(Elements elements, MemorySegment data, int count) {
        return elements.heap(count).copyFrom(data);
    }

    @ParameterizedTest(name = "{0}, {1}, deterministic: {2}")
    @CsvSource({
        "F16, SHM 2, false",
        "F16, SHM 5, false",
        "F16, TCP 5, true",
        "F16, 2+2, true",
        "BF16, SHM 3, false",
        "BF16, SHM 5, false",
        "BF16, TCP 5, true",
        "BF16, 2+1, true"
    })
    void halvesAreRoundedOncePerElement(DataType type, Plane plane, boolean deterministic) {
        int size = plane.size();
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
        LocalWorld.run(plane.world().withDeterministic(deterministic), world -> {
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
    @ParameterizedTest(name = "{0}, {1}, {2} elements")
    @SampledCases(
            count = 10,
            value = {
                "F32, TCP 5, 1000",
                "F32, TCP 5, 100000",
                "F32, TCP 3, 400000",
                "F32, SHM 4, 100000",
                "F32, 2+1, 100000",
                "F32, 2+2, 1000",
                "F64, TCP 3, 100000",
                "F64, SHM 4, 1000",
                "F64, 2+1, 100000",
                "F64, 2+2, 1000",
                "F16, TCP 5, 1000",
                "F16, TCP 5, 100000",
                "F16, TCP 3, 400000",
                "F16, SHM 4, 100000",
                "F16, 2+2, 100000",
                "BF16, TCP 5, 1000",
                "BF16, TCP 5, 100000",
                "BF16, TCP 3, 400000",
                "BF16, SHM 4, 100000",
                "BF16, 2+1, 1000",
                "BF16, 2+2, 100000"
            })
    void sumsKeepTheBoundOfAnyOrderOfAddition(DataType type, Plane plane, int count) {
        Elements elements = new Elements(type);
        MemorySegment[] inputs = contributions(elements, plane.size(), count);
        Sums sums = Sums.of(elements, inputs, count);
        LocalWorld.run(plane.world(), world -> {
            ProcessGroup group = world.group();
            MemorySegment input = inputs[world.rank()];
            MemorySegment everywhere = copy(elements, input, count);
            group.allReduce(everywhere, type, count, ReduceOp.SUM);
            sums.check(everywhere, 0, count);

            int root = group.size() - 1;
            MemorySegment atRoot = copy(elements, input, count);
            group.reduce(atRoot, type, count, ReduceOp.SUM, root);
            if (world.rank() == root) {
                sums.check(atRoot, 0, count);
            }

            int block = count / group.size();
            MemorySegment scattered = elements.heap(block);
            group.reduceScatter(input, scattered, type, block, ReduceOp.SUM);
            sums.check(scattered, world.rank() * block, block);
        });
    }

    /** The reference of reductions, and their allowed error. */
    private record Sums(Elements elements, DoubleBuffer values, DoubleBuffer allowed) {
        static Sums of(Elements elements, MemorySegment[] inputs, int count) {
            // The serial sum is rounded as well.
            double bound = bound(relativeError(elements.type()), inputs.length) + bound(0x1p-53, inputs.length);
            double[] values = new double[count];
            double[] allowed = new double[count];
            for (MemorySegment input : inputs) {
                for (int at = 0; at < count; at++) {
                    double value = elements.get(input, at).doubleValue();
                    values[at] += value;
                    allowed[at] += Math.abs(value) * bound;
                }
            }
            return new Sums(elements, DoubleBuffer.wrap(values), DoubleBuffer.wrap(allowed));
        }

        private static double bound(double relativeError, int size) {
            return Math.expm1((size - 1) * Math.log1p(relativeError));
        }

        void check(MemorySegment reduced, int first, int count) {
            for (int at = 0; at < count; at++) {
                double sum = values.get(first + at);
                double error = Math.abs(elements.get(reduced, at).doubleValue() - sum);
                if (error > allowed.get(first + at)) {
                    assertThat(error)
                            .as("error of element %d, a sum of %s", first + at, sum)
                            .isLessThanOrEqualTo(allowed.get(first + at));
                }
            }
        }
    }

    /** The rounding of one addition: to binary32, then to the type. */
    private static double relativeError(DataType type) {
        double wide = 0x1p-24;
        return switch (type) {
            case F16 -> (1 + wide) * (1 + 0x1p-11) - 1;
            case BF16 -> (1 + wide) * (1 + 0x1p-8) - 1;
            case F64 -> 0x1p-53;
            default -> wide;
        };
    }
}

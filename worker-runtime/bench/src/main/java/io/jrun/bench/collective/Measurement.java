package io.jrun.bench.collective;

import io.jrun.bench.collective.BenchedOperation.Expected;
import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Measures one operation on several backends in turn, and checks each on integer-valued data. The time of a call is the
 * time of the slowest rank. Every rank runs the same calls in the same order.
 */
final class Measurement {
    /** The number of turns for each size. The backends alternate. */
    private static final int TURNS = 5;

    /** The target time of one turn: long enough for a median, short enough for a slow machine. */
    private static final double TURN_NANOS = 200e6;

    private static final int MIN_SAMPLES_PER_TURN = 3;
    private static final int MAX_SAMPLES_PER_TURN = 60;

    /**
     * Up to this size a sample is the mean of a batch of calls, because a single call is near the resolution of the
     * clock.
     */
    private static final long BATCHED_BYTES = 16 << 10;

    private static final int BATCH = 200;

    private static final long WARM_UP_BYTES = 64 << 10;

    /** The longest time of the calls of the largest size before the first size. The JVM compiles for up to a second. */
    private static final double WARM_UP_NANOS = 2e9;

    private final BenchedOperation operation;
    private final DataType type;
    private final ReduceOp op;
    private final ProcessGroup all;
    private final int iters;

    /**
     * @param all the group of all ranks, for barriers and to find the slowest rank
     * @param iters samples of a turn; 0: the number that fills the turn
     */
    Measurement(BenchedOperation operation, DataType type, ReduceOp op, ProcessGroup all, int iters) {
        this.operation = operation;
        this.type = type;
        this.op = op;
        this.all = all;
        this.iters = iters;
    }

    /** The result of one backend at one size. */
    record Result(ComparedBackend peer, long bytes, long count, Samples samples, long errors) {}

    /**
     * Runs calls before the first size, so that the JIT has compiled the code of small and of large sizes, and all
     * memory was touched.
     */
    void warmUp(List<ComparedBackend> peers, long maxBytes, int calls) {
        for (ComparedBackend peer : peers) {
            double[] _ = time(cell(peer, elements(1)), calls, 3);
            double[] _ = time(cell(peer, elements(Math.min(maxBytes, WARM_UP_BYTES))), calls, 1);
            double passed = maxBytes > WARM_UP_BYTES ? 0 : WARM_UP_NANOS;
            for (int call = 0; call < calls && passed < WARM_UP_NANOS; call += MIN_SAMPLES_PER_TURN) {
                double[] nanos = time(cell(peer, elements(maxBytes)), 1, MIN_SAMPLES_PER_TURN);
                passed += Arrays.stream(nanos).sum();
            }
        }
    }

    /** Measures all backends at a size of about {@code bytes}. */
    List<Result> measure(List<ComparedBackend> peers, long bytes) {
        long total = elements(bytes);
        long actualBytes = total * type.sizeBytes();
        int batch = iters == 0 && actualBytes <= BATCHED_BYTES ? BATCH : 1;
        List<Long> errors = new ArrayList<>();
        List<double[]> nanos = new ArrayList<>();
        List<Integer> samplesPerTurn = new ArrayList<>();
        for (ComparedBackend peer : peers) {
            BenchCase cell = cell(peer, total);
            errors.add(wrongElements(cell));
            int samples = iters > 0 ? iters : samplesPerTurn(cell, batch);
            samplesPerTurn.add(samples);
            nanos.add(new double[TURNS * samples]);
        }
        for (int turn = 0; turn < TURNS; turn++) {
            for (int p = 0; p < peers.size(); p++) {
                int samples = samplesPerTurn.get(p);
                double[] slowest = time(cell(peers.get(p), total), batch, samples);
                System.arraycopy(slowest, 0, nanos.get(p), turn * samples, samples);
            }
        }
        List<Result> results = new ArrayList<>();
        for (int p = 0; p < peers.size(); p++) {
            results.add(new Result(peers.get(p), actualBytes, total, new Samples(nanos.get(p)), errors.get(p)));
        }
        return results;
    }

    private int samplesPerTurn(BenchCase cell, int batch) {
        double sampleNanos = batch * new Samples(time(cell, batch, MIN_SAMPLES_PER_TURN)).medianNanos();
        return (int) Math.clamp(TURN_NANOS / sampleNanos, MIN_SAMPLES_PER_TURN, MAX_SAMPLES_PER_TURN);
    }

    /** Returns the number of elements: whole blocks, at least one element or one for each rank's block. */
    private long elements(long bytes) {
        int parts = operation.hasBlocks() ? all.size() : 1;
        return operation.hasSize() ? Math.max(1, bytes / type.sizeBytes() / parts) * parts : 0;
    }

    private BenchCase cell(ComparedBackend peer, long total) {
        return peer.cell(type, op, total);
    }

    /**
     * Returns the nanoseconds of each sample on the slowest rank. The data are zeros, so repeated sums in place stay
     * finite.
     */
    private double[] time(BenchCase cell, int batch, int samples) {
        cell.input().asSlice(0, cell.total() * type.sizeBytes()).fill((byte) 0);
        double[] nanos = new double[samples];
        for (int s = 0; s < samples; s++) {
            all.barrier();
            long start = System.nanoTime();
            for (int call = 0; call < batch; call++) {
                operation.run(cell);
            }
            nanos[s] = (double) (System.nanoTime() - start) / batch;
        }
        all.allReduce(MemorySegment.ofArray(nanos), DataType.F64, samples, ReduceOp.MAX);
        return nanos;
    }

    /** Returns the number of wrong elements of all ranks after one call. */
    private long wrongElements(BenchCase cell) {
        for (long i = 0; i < cell.total(); i++) {
            TestData.set(cell.input(), type, i, cell.value(cell.rank(), i));
        }
        operation.run(cell);
        Expected expected = operation.expected(cell);
        int divisor = operation.reduces() && op == ReduceOp.AVG ? all.size() : 1;
        long wrong = 0;
        for (long i = 0; i < expected.count(); i++) {
            if (!TestData.equal(cell.result(), type, i, expected.element().applyAsLong(i), divisor)) {
                wrong++;
            }
        }
        long[] total = {wrong};
        all.allReduce(MemorySegment.ofArray(total), DataType.I64, 1, ReduceOp.SUM);
        return total[0];
    }
}

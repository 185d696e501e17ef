package io.jrun.bench;

import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * All-reduce over a range of sizes, float32 SUM in place, in the form nccl-tests users know. The backends take turns
 * within each size, a call's time is the slowest rank's, and every size is checked on integer-valued data.
 */
@Command(
        name = "allreduce",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description =
                "Sums a float32 buffer over all ranks (jrun bench allreduce --nproc-per-node=N); time, bandwidth and errors for"
                        + " each size and backend.")
final class AllReduceBench implements Runnable {
    /** A size's calls are measured in this many turns, the backends alternating. */
    private static final int TURNS = 5;

    /** How long one backend's turn should take: long enough for a median, short enough for a slow machine. */
    private static final double TURN_NANOS = 200e6;

    private static final int MIN_SAMPLES_PER_TURN = 3;
    private static final int MAX_SAMPLES_PER_TURN = 60;

    /** Up to here one sample is the mean of a batch of calls: a single call is near the clock's resolution. */
    private static final long BATCHED_BYTES = 16 << 10;

    private static final int BATCH = 200;

    private static final long WARM_UP_COUNT = 1 << 14;
    private static final int WARM_UP_CALLS = 2000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--backend", split = ",", defaultValue = "jrun", description = "jrun, gloo, or both: jrun,gloo")
    private List<BackendName> backends = List.of();

    @Option(names = "--memory", defaultValue = "registered", description = "jrun's buffers: ${COMPLETION-CANDIDATES}")
    private Memory memory = Memory.registered;

    @Option(names = "--min-bytes", defaultValue = "4", converter = ByteSize.Converter.class, description = "first size")
    private ByteSize minBytes = new ByteSize(4);

    @Option(
            names = "--max-bytes",
            defaultValue = "64M",
            converter = ByteSize.Converter.class,
            description = "last size")
    private ByteSize maxBytes = new ByteSize(64 << 20);

    @Option(names = "--step-factor", defaultValue = "4", description = "from one size to the next")
    private int stepFactor = 4;

    @Option(names = "--json", description = "one JSON object a line instead of the table")
    private boolean json;

    private enum BackendName {
        jrun,
        gloo
    }

    private record Result(String backend, long bytes, Samples samples, long errors) {
        /** Payload bytes per second, in GB/s (1e9). */
        double algGBps() {
            return bytes / samples.medianNanos();
        }

        /** What the slowest link would carry with a ring: algbw * 2(N-1)/N, as nccl-tests define it. */
        double busGBps(int ranks) {
            return algGBps() * 2 * (ranks - 1) / ranks;
        }
    }

    @Override
    public void run() {
        if (stepFactor < 2) {
            throw new ParameterException(spec.commandLine(), "--step-factor=" + stepFactor + " must be at least 2");
        }
        if (minBytes.bytes() > maxBytes.bytes()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--min-bytes=" + minBytes.bytes() + " is more than --max-bytes=" + maxBytes.bytes());
        }
        try (World world = Distributed.init()) {
            long maxCount = Math.max(1, maxBytes.bytes() / Float.BYTES);
            List<Peer> peers = new ArrayList<>();
            for (BackendName name : backends) {
                peers.add(
                        switch (name) {
                            case jrun -> new JrunPeer(world.group(), memory, maxCount);
                            case gloo -> new GlooPeer(world, maxCount);
                        });
            }
            // The first size would otherwise be measured while the kernels are still being compiled.
            for (Peer peer : peers) {
                time(world.group(), peer, 1, WARM_UP_CALLS, 3);
                time(world.group(), peer, Math.min(maxCount, WARM_UP_COUNT), WARM_UP_CALLS, 1);
            }
            if (world.rank() == 0 && !json) {
                printHeader(world.size());
            }
            long wrong = 0;
            for (long bytes = minBytes.bytes(); bytes <= maxBytes.bytes(); bytes *= stepFactor) {
                List<Result> results = measure(world.group(), peers, Math.max(1, bytes / Float.BYTES));
                wrong += results.stream().mapToLong(Result::errors).sum();
                if (world.rank() == 0) {
                    results.forEach(result -> print(result, results, world.size()));
                }
            }
            world.group().barrier();
            peers.forEach(Peer::close);
            if (wrong > 0) {
                throw new IllegalStateException(wrong + " wrong elements; the column errors says where");
            }
        }
    }

    private List<Result> measure(ProcessGroup group, List<Peer> peers, long count) {
        long bytes = count * Float.BYTES;
        int batch = bytes <= BATCHED_BYTES ? BATCH : 1;
        List<Long> errors = new ArrayList<>();
        List<Integer> samplesPerTurn = new ArrayList<>();
        for (Peer peer : peers) {
            errors.add(wrongElements(group, peer, count));
            double sampleNanos =
                    batch * new Samples(time(group, peer, count, batch, MIN_SAMPLES_PER_TURN)).medianNanos();
            samplesPerTurn.add((int) Math.clamp(TURN_NANOS / sampleNanos, MIN_SAMPLES_PER_TURN, MAX_SAMPLES_PER_TURN));
        }
        List<double[]> nanos = new ArrayList<>();
        samplesPerTurn.forEach(samples -> nanos.add(new double[TURNS * samples]));
        for (int turn = 0; turn < TURNS; turn++) {
            for (int p = 0; p < peers.size(); p++) {
                int samples = samplesPerTurn.get(p);
                double[] slowest = time(group, peers.get(p), count, batch, samples);
                System.arraycopy(slowest, 0, nanos.get(p), turn * samples, samples);
            }
        }
        List<Result> results = new ArrayList<>();
        for (int p = 0; p < peers.size(); p++) {
            results.add(new Result(peers.get(p).name(), bytes, new Samples(nanos.get(p)), errors.get(p)));
        }
        return results;
    }

    /** Nanoseconds of each sample on the slowest rank. Zeros are summed, so that repeated in-place sums stay finite. */
    private static double[] time(ProcessGroup group, Peer peer, long count, int batch, int samples) {
        peer.buffer(count).fill((byte) 0);
        double[] nanos = new double[samples];
        for (int s = 0; s < samples; s++) {
            group.barrier();
            long start = System.nanoTime();
            for (int call = 0; call < batch; call++) {
                peer.allReduceSum(count);
            }
            nanos[s] = (double) (System.nanoTime() - start) / batch;
        }
        group.allReduce(MemorySegment.ofArray(nanos), DataType.F64, samples, ReduceOp.MAX);
        return nanos;
    }

    /** Number of wrong elements over all ranks after one sum of integer-valued data. */
    private static long wrongElements(ProcessGroup group, Peer peer, long count) {
        MemorySegment buffer = peer.buffer(count);
        int ranks = group.size();
        for (long i = 0; i < count; i++) {
            buffer.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (i % 97 + group.rank()));
        }
        peer.allReduceSum(count);
        long wrong = 0;
        for (long i = 0; i < count; i++) {
            float expected = i % 97 * ranks + ranks * (ranks - 1) / 2f;
            if (buffer.getAtIndex(ValueLayout.JAVA_FLOAT, i) != expected) {
                wrong++;
            }
        }
        long[] total = {wrong};
        group.allReduce(MemorySegment.ofArray(total), DataType.I64, 1, ReduceOp.SUM);
        return total[0];
    }

    private void printHeader(int ranks) {
        System.out.printf(
                "# all-reduce, float32 SUM in place, %d ranks, memory=%s; a time is the slowest rank's%n",
                ranks, memory);
        System.out.printf(
                "%-8s %12s %12s %12s %10s %10s %7s %s%n",
                "backend", "bytes", "median us", "min us", "algbw GB/s", "busbw GB/s", "errors", "speedup");
    }

    private void print(Result result, List<Result> all, int ranks) {
        PrintStream out = System.out;
        double median = result.samples().medianNanos() / 1e3;
        double min = result.samples().minNanos() / 1e3;
        if (json) {
            out.printf(
                    Locale.ROOT,
                    "{\"op\":\"allreduce\",\"backend\":\"%s\",\"memory\":\"%s\",\"ranks\":%d,\"bytes\":%d,\"medianMicros\":%.3f,"
                            + "\"minMicros\":%.3f,\"algGBps\":%.4f,\"busGBps\":%.4f,\"errors\":%d}%n",
                    result.backend(),
                    result.backend().equals("jrun") ? memory : "tensor",
                    ranks,
                    result.bytes(),
                    median,
                    min,
                    result.algGBps(),
                    result.busGBps(ranks),
                    result.errors());
            return;
        }
        double slowest =
                all.stream().mapToDouble(r -> r.samples().medianNanos()).max().orElseThrow();
        String ratio = all.size() == 1
                ? ""
                : String.format(Locale.ROOT, "%.2fx", slowest / result.samples().medianNanos());
        out.printf(
                Locale.ROOT,
                "%-8s %12d %12.2f %12.2f %10.3f %10.3f %7d %s%n",
                result.backend(),
                result.bytes(),
                median,
                min,
                result.algGBps(),
                result.busGBps(ranks),
                result.errors(),
                ratio);
    }
}

package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.Samples;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures a training step of a 3.7M-parameter GPT, batch 8 per rank, SGD, one thread per rank: without communication,
 * with jrun's DDP, and with libtorch's own Reducer over Gloo. The modes run in turn within one run. The time of a step
 * is the time of its slowest rank, also without communication, so differences between ranks count for every mode.
 */
@Command(
        name = "ddp",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description =
                "Times a training step of a 3.7M-parameter GPT: no communication, jrun's DDP, libtorch's over Gloo.")
final class DdpBench implements Benchmark {
    private static final int BATCH_PER_RANK = 8;
    private static final int STEPS_PER_TURN = 5;

    /** The first steps of a mode, which fill caches, rebuild buckets and warm up the JIT. */
    private static final int WARMUP_STEPS = 5;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--mode",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "none,ddp,gloo",
            description = "which to run: none, ddp, gloo")
    private List<Mode> modes = List.of();

    @Option(names = "--steps", paramLabel = "N", defaultValue = "30", description = "measured steps of each mode")
    private int steps = 30;

    @Option(names = "--json", description = "one JSON object a line instead of the table")
    private boolean json;

    private enum Mode {
        none,
        ddp,
        gloo
    }

    @Override
    public void check() {
        if (steps < 1) {
            throw new ParameterException(spec.commandLine(), "--steps=" + steps + " must be at least 1");
        }
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init()) {
            Libtorch.setThreads(1);
            torch.manual_seed(100L + world.rank());
            TensorOptions ids = new TensorOptions(torch.ScalarType.Long);
            Tensor x_BS = torch.randint(BenchGpt.V, new long[] {BATCH_PER_RANK, BenchGpt.S}, ids);
            Tensor y_BS = torch.randint(BenchGpt.V, new long[] {BATCH_PER_RANK, BenchGpt.S}, ids);
            List<TrainingLoop> loops = new ArrayList<>();
            for (Mode mode : modes) {
                torch.manual_seed(1);
                loops.add(
                        switch (mode) {
                            case none -> new LocalLoop(new BenchGpt());
                            case ddp -> new DdpLoop(new BenchGpt(), world.group());
                            case gloo -> new ReducerLoop(new BenchGpt(), world);
                        });
            }
            List<double[]> nanos = measure(world, loops, x_BS, y_BS);
            if (world.rank() == 0) {
                print(nanos, world.size());
            }
            world.group().barrier();
            loops.forEach(TrainingLoop::close);
        }
    }

    private List<double[]> measure(World world, List<TrainingLoop> loops, Tensor x_BS, Tensor y_BS) {
        for (TrainingLoop loop : loops) {
            for (int step = 0; step < WARMUP_STEPS; step++) {
                loop.step(x_BS, y_BS);
            }
        }
        List<double[]> nanos = new ArrayList<>();
        loops.forEach(_ -> nanos.add(new double[steps]));
        for (int from = 0; from < steps; from += STEPS_PER_TURN) {
            for (int l = 0; l < loops.size(); l++) {
                for (int step = from; step < Math.min(steps, from + STEPS_PER_TURN); step++) {
                    world.group().barrier();
                    long start = System.nanoTime();
                    loops.get(l).step(x_BS, y_BS);
                    nanos.get(l)[step] = System.nanoTime() - start;
                }
            }
        }
        nanos.forEach(
                mine -> world.group().allReduce(MemorySegment.ofArray(mine), DataType.F64, mine.length, ReduceOp.MAX));
        return nanos;
    }

    private void print(List<double[]> nanos, int ranks) {
        if (!json) {
            System.out.printf("# %d ranks, 3.7M-parameter GPT, batch %d per rank%n", ranks, BATCH_PER_RANK);
            System.out.printf("%-6s %12s %12s%n", "mode", "median ms", "min ms");
        }
        for (int m = 0; m < modes.size(); m++) {
            Samples samples = new Samples(nanos.get(m));
            System.out.printf(
                    Locale.ROOT,
                    json
                            ? "{\"mode\":\"%s\",\"medianMillis\":%.3f,\"minMillis\":%.3f,\"ranks\":" + ranks + "}%n"
                            : "%-6s %12.2f %12.2f%n",
                    modes.get(m),
                    samples.medianNanos() / 1e6,
                    samples.minNanos() / 1e6);
        }
    }
}

package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.Decimals;
import io.jrun.bench.collective.OptionLimits;
import io.jrun.bench.collective.Samples;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.json.JsonWriter;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Measures a training step of a 3.7M-parameter GPT, batch 8 per rank, one thread per rank: without communication, with
 * jrun's DDP or FSDP, and with libtorch's own Reducer over Gloo. The modes alternate within one run. The time of a step
 * is the time of its slowest rank, also without communication, so differences between ranks count for every mode.
 *
 * <p>The loops do not stand on {@code io.jrun.trainer}, because the result would be another one. The trainer runs a
 * training from its begin to its end, but here the modes take turns of some steps, so that noise of the machine meets
 * all modes alike. The trainer has no mode without communication and none for libtorch's Reducer. A step of the trainer
 * also clips gradients, reads a batch, records metrics and compares replicas, and the loop of Python's torch in
 * {@code scripts/bench/ddp} does none of these.
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
            description = "modes to run: none, ddp, fsdp, gloo; of the sequences of all ranks: tp (tensor parallel),"
                    + " pp (1F1B with 8 micro-batches)")
    private List<Mode> modes = List.of();

    @Option(
            names = "--optimizer",
            paramLabel = "NAME",
            defaultValue = "sgd",
            description = "sgd, adamw (of libtorch), or fused (AdamW over flat memory)")
    private BenchOptimizer optimizer = BenchOptimizer.sgd;

    @Option(
            names = "--precision",
            paramLabel = "TYPE",
            defaultValue = "f32",
            description = "f32, or bf16 (autocast, attention in float32)")
    private BenchPrecision precision = BenchPrecision.f32;

    @Option(names = "--steps", paramLabel = "N", defaultValue = "30", description = "measured steps of each mode")
    private int steps = 30;

    @Option(names = "--json", description = "one JSON object a line instead of the table")
    private boolean json;

    private enum Mode {
        none,
        ddp,
        fsdp,
        gloo,
        tp,
        pp
    }

    @Override
    public void check() {
        OptionLimits.check(spec, "--steps", steps, 1, OptionLimits.MOST_CALLS);
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init()) {
            Libtorch.setThreads(1);
            List<BenchData.Batch> batches = modes.stream()
                    .map(mode -> mode == Mode.tp || mode == Mode.pp
                            ? BenchData.batchOfAll(0, world.size())
                            : BenchData.batch(0, world.rank(), world.size()))
                    .toList();
            List<TrainingLoop> loops = modes.stream()
                    .map(mode -> loop(mode, new BenchGpt(), world))
                    .toList();
            List<double[][]> nanos = measure(world, loops, batches);
            if (world.rank() == 0) {
                print(nanos, loops, world.size());
            }
            world.group().barrier();
            loops.forEach(TrainingLoop::close);
        }
    }

    private TrainingLoop loop(Mode mode, BenchGpt model, World world) {
        BenchData.fill(model);
        return switch (mode) {
            case none -> new LocalLoop(model, optimizer, precision);
            case ddp -> new DdpLoop(model, world.group(), optimizer, precision);
            case fsdp -> new FsdpLoop(model, world.group(), optimizer, precision);
            case gloo -> new ReducerLoop(model, world, optimizer, precision);
            case tp -> {
                model.shareBlocks(world.group());
                yield new LocalLoop(model, optimizer, precision);
            }
            case pp -> new PipelineLoop(model, world, optimizer, precision);
        };
    }

    /** For each loop the durations of all steps: of the whole step, then of each phase. */
    private List<double[][]> measure(World world, List<TrainingLoop> loops, List<BenchData.Batch> batches) {
        for (int l = 0; l < loops.size(); l++) {
            for (int step = 0; step < WARMUP_STEPS; step++) {
                loops.get(l).step(batches.get(l));
            }
        }
        List<double[][]> nanos = new ArrayList<>();
        loops.forEach(_ -> nanos.add(new double[1 + StepResult.PHASES.length][steps]));
        for (int from = 0; from < steps; from += STEPS_PER_TURN) {
            for (int l = 0; l < loops.size(); l++) {
                for (int step = from; step < Math.min(steps, from + STEPS_PER_TURN); step++) {
                    world.group().barrier();
                    long start = System.nanoTime();
                    long[] phases = loops.get(l).step(batches.get(l)).phases();
                    nanos.get(l)[0][step] = System.nanoTime() - start;
                    for (int phase = 0; phase < phases.length; phase++) {
                        nanos.get(l)[1 + phase][step] = phases[phase];
                    }
                }
            }
        }
        for (double[][] loop : nanos) {
            for (double[] mine : loop) {
                world.group().allReduce(MemorySegment.ofArray(mine), DataType.F64, mine.length, ReduceOp.MAX);
            }
        }
        return nanos;
    }

    private void print(List<double[][]> nanos, List<TrainingLoop> loops, int ranks) {
        if (!json) {
            printHeader(ranks);
        }
        for (int m = 0; m < modes.size(); m++) {
            List<Double> overlap = loops.get(m).overlapPerBucket();
            if (json) {
                System.out.println(object(modes.get(m), nanos.get(m), overlap, ranks));
                continue;
            }
            System.out.println(row(modes.get(m), nanos.get(m)));
            if (!overlap.isEmpty()) {
                System.out.println("# overlap of each bucket with the backward pass, rank 0, last step: "
                        + overlap.stream()
                                .map(part -> String.format(Locale.ROOT, "%.2f", part))
                                .collect(Collectors.joining(" ")));
            }
        }
    }

    private void printHeader(int ranks) {
        System.out.printf(
                "# %d ranks, 3.7M-parameter GPT, batch %d per rank, %s, %s;"
                        + " phases are medians of the slowest rank%n",
                ranks, BenchData.BATCH, optimizer, precision);
        System.out.printf("%-6s %12s %12s", "mode", "median ms", "min ms");
        for (String phase : StepResult.PHASES) {
            System.out.printf(" %12s", phase + " ms");
        }
        System.out.println();
    }

    private static String row(Mode mode, double[][] nanos) {
        Samples step = new Samples(nanos[0]);
        StringBuilder row = new StringBuilder(String.format(
                Locale.ROOT, "%-6s %12.2f %12.2f", mode, step.medianNanos() / 1e6, step.minNanos() / 1e6));
        for (int phase = 1; phase < nanos.length; phase++) {
            row.append(String.format(Locale.ROOT, " %12.2f", new Samples(nanos[phase]).medianNanos() / 1e6));
        }
        return row.toString();
    }

    private String object(Mode mode, double[][] nanos, List<Double> overlap, int ranks) {
        Samples step = new Samples(nanos[0]);
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("mode", mode.toString());
        object.put("medianMillis", Decimals.millis(step.medianNanos()));
        object.put("minMillis", Decimals.millis(step.minNanos()));
        object.put("ranks", ranks);
        object.put("optimizer", optimizer.toString());
        object.put("precision", precision.toString());
        for (int phase = 1; phase < nanos.length; phase++) {
            object.put(
                    StepResult.PHASES[phase - 1] + "Millis", Decimals.millis(new Samples(nanos[phase]).medianNanos()));
        }
        if (!overlap.isEmpty()) {
            object.put(
                    "overlapPerBucket",
                    overlap.stream().map(part -> Decimals.rounded(part, 2)).toList());
        }
        return JsonWriter.write(object);
    }
}

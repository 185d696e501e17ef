package io.jrun.bench.pipeline;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.Decimals;
import io.jrun.bench.collective.OptionLimits;
import io.jrun.bench.collective.Samples;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.json.JsonWriter;
import io.jrun.train.pipeline.ActionSpan;
import io.jrun.train.pipeline.PipelineExecutor;
import io.jrun.train.pipeline.schedule.ActionCosts;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.pipeline.schedule.ScheduleException;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.pipeline.schedule.ScheduleSimulation;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Runs schedules on real processes whose stages sleep, and compares the idle time with the formula: (P-1)/(m+P-1)
 * of the step for GPipe and 1F1B, (P-1)/(V m) of the computation for the interleaved schedule, (P-1)(F+I-W) for ZB1P.
 * ZBV has no closed form; its number comes from a simulation of the schedule in exact units of time.
 */
@Command(
        name = "pipeline",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description = "Measures the idle time of pipeline schedules with stages that sleep, beside the formula.")
public final class PipelineBench implements Benchmark {
    /** Steps that connect the ranks and let the JIT compile. A cold message takes a millisecond, a warm one 50 us. */
    private static final int WARMUP_STEPS = 60;

    private static final int BUBBLE_DIGITS = 5;

    private static final int MOST_MICRO_BATCHES = 4096;
    private static final int MOST_STAGES = 64;
    private static final int MOST_MILLIS = 60_000;

    private static final long WARMUP_UNIT_NANOS = 1_000_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--schedule",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "gpipe,1f1b,interleaved,zb1p,zbv",
            description = "which to run: gpipe, 1f1b, interleaved, zb1p, zbv")
    private List<String> names = List.of();

    @Option(names = "--micro-batches", paramLabel = "N", defaultValue = "8", description = "micro-batches of a step")
    private int microBatches = 8;

    @Option(
            names = "--virtual-stages",
            paramLabel = "N",
            defaultValue = "2",
            description = "stages of a rank, for interleaved")
    private int virtualStages = 2;

    @Option(
            names = "--unit-millis",
            paramLabel = "N",
            defaultValue = "200",
            description = "time of a forward pass; a backward pass takes twice as long")
    private int unitMillis = 200;

    @Option(names = "--steps", paramLabel = "N", defaultValue = "3", description = "measured steps of each schedule")
    private int steps = 3;

    @Option(names = "--json", description = "one JSON object a line instead of the table")
    private boolean json;

    @Override
    public void check() {
        OptionLimits.check(spec, "--micro-batches", microBatches, 1, MOST_MICRO_BATCHES);
        OptionLimits.check(spec, "--virtual-stages", virtualStages, 1, MOST_STAGES);
        OptionLimits.check(spec, "--unit-millis", unitMillis, 1, MOST_MILLIS);
        OptionLimits.check(spec, "--steps", steps, 1, OptionLimits.MOST_CALLS);
        try {
            names.forEach(ScheduleKind::parse);
        } catch (ScheduleException unknown) {
            throw new ParameterException(spec.commandLine(), "--schedule: " + unknown.getMessage());
        }
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init()) {
            Libtorch.setThreads(1);
            if (world.rank() == 0 && !json) {
                System.out.printf(
                        "# %d ranks, %d micro-batches, unit %d ms; bubble = idle part of the step, mean of the ranks%n",
                        world.size(), microBatches, unitMillis);
                System.out.printf("%-12s %10s %12s %12s %12s%n", "schedule", "step ms", "bubble", "formula", "off by");
            }
            for (String name : names) {
                measure(world, ScheduleKind.parse(name));
            }
        }
    }

    private void measure(World world, ScheduleKind kind) {
        int stages = kind == ScheduleKind.INTERLEAVED ? virtualStages : kind.leastStagesPerRank();
        PipelineSchedule schedule = kind.schedule(world.size(), stages, microBatches);
        PipelineExecutor executor = new PipelineExecutor(schedule, world.group(), Device.CPU);
        double[] bubbles = new double[steps];
        double[] nanos = new double[steps];
        SleepingStages brief = new SleepingStages(WARMUP_UNIT_NANOS, schedule.stages() - 1);
        for (int step = 0; step < WARMUP_STEPS; step++) {
            executor.run(brief);
        }
        SleepingStages sleeping = new SleepingStages(unitMillis * 1_000_000L, schedule.stages() - 1);
        for (int step = 0; step < steps; step++) {
            world.group().barrier();
            long begin = System.nanoTime();
            executor.run(sleeping);
            double[] longest = {System.nanoTime() - begin};
            world.group().allReduce(MemorySegment.ofArray(longest), DataType.F64, 1, ReduceOp.MAX);
            long busy = executor.spans().stream().mapToLong(ActionSpan::nanos).sum();
            double[] idle = {(longest[0] - busy) / longest[0] / world.size()};
            world.group().allReduce(MemorySegment.ofArray(idle), DataType.F64, 1, ReduceOp.SUM);
            bubbles[step] = idle[0];
            nanos[step] = longest[0];
        }
        if (world.rank() == 0) {
            print(kind, new Samples(nanos).medianNanos() / 1e6, new Samples(bubbles).medianNanos(), formula(schedule));
        }
    }

    /** The idle part of the step in exact units of time. The tests prove that it equals the closed formulas. */
    private static double formula(PipelineSchedule schedule) {
        ScheduleSimulation simulation = ScheduleSimulation.of(schedule, ActionCosts.EQUAL);
        double idle = 0;
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            idle += simulation.idle(rank);
        }
        return idle / schedule.ranks() / simulation.makespan();
    }

    private void print(ScheduleKind kind, double millis, double bubble, double formula) {
        double offBy = (bubble - formula) / formula;
        if (json) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            object.put("schedule", kind.text());
            object.put("stepMillis", Decimals.rounded(millis, 3));
            object.put("bubble", Decimals.rounded(bubble, BUBBLE_DIGITS));
            object.put("formula", Decimals.rounded(formula, BUBBLE_DIGITS));
            object.put("offBy", Decimals.rounded(offBy, BUBBLE_DIGITS));
            System.out.println(JsonWriter.write(object));
        } else {
            System.out.printf(
                    Locale.ROOT, "%-12s %10.1f %12.4f %12.4f %12.4f%n", kind.text(), millis, bubble, formula, offBy);
        }
    }
}

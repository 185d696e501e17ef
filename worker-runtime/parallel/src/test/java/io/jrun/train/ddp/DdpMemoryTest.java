package io.jrun.train.ddp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.step.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.assertj.core.data.Percentage;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Native memory of steps is freed by the step, hooks are not lost to the collector. Soak: -Djrun.soak=true. */
class DdpMemoryTest {
    private static final int RANKS = 2;
    private static final long LIMIT_KIB = 5 * 1024;
    /** The heap is touched at the start, so that the JVM's own share does not move. */
    private static final List<String> STEADY = List.of("-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch");

    @TempDir
    private Path folder;

    @Test
    void aWorkerGrowsByLessThanFiveMebibytes() throws IOException, InterruptedException {
        boolean isSoak = Boolean.getBoolean("jrun.soak");
        String first = isSoak ? "2000" : "100";
        String last = isSoak ? "10000" : "300";
        String printed = JavaProcess.start(
                        folder,
                        SoakMain.class,
                        STEADY,
                        Map.of("MALLOC_ARENA_MAX", "2", "OMP_NUM_THREADS", "1"),
                        Integer.toString(RANKS),
                        first,
                        last)
                .join();
        long grown = printed.lines()
                .filter(line -> line.startsWith("grown KiB: "))
                .mapToLong(line -> Long.parseLong(line.substring("grown KiB: ".length())))
                .findFirst()
                .orElseThrow();
        System.out.println(
                "DDP step memory: grown by " + grown / RANKS + " KiB per worker from step " + first + " to " + last);
        assertThat(grown / RANKS).isLessThan(LIMIT_KIB);
    }

    /**
     * In float32 4 bytes each for the parameter, its gradient, and AdamW's two states: Rajbhandari et al.,
     * arXiv:1910.02054.
     */
    @Test
    void modelStatesTakeSixteenBytesForEachParameter() {
        long width = 4096; // Large, because the memory that libtorch and the JVM free meanwhile varies by megabytes.
        double expected = 16.0 * (width * width + width);
        AtomicReferenceArray<Double> perRank = new AtomicReferenceArray<>(RANKS);
        Libtorch.setThreads(1);
        LocalWorld.run(RANKS, world -> {
            // The JVM and libtorch take memory of their own at first use. The JVM's compiler takes megabytes and frees
            // them after a compilation, so the least of several numbers counts.
            long before = Long.MAX_VALUE;
            for (int round = 0; round < 10; round++) {
                train(world, 256, 20);
                world.group().barrier();
                before = Math.min(before, LiveMemory.bytes());
                world.group().barrier();
            }
            perRank.set(world.rank(), train(world, width, 3) - (double) before / RANKS);
        });
        System.out.println("model memory: " + perRank + " bytes, formula " + expected);
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(perRank.get(rank)).isCloseTo(expected, Percentage.withPercentage(5));
        }
    }

    /**
     * Trains a layer. Returns this rank's part of all memory of the process, with the group's memory, while it still
     * trains.
     */
    private static double train(World world, long width, int passes) {
        LinearImpl module = new LinearImpl(width, width);
        try (var model = new DistributedDataParallel<>(module, world.group());
                FlatOptimizer optimizer = new FlatOptimizer(
                        Parameters.of(module),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.all(0),
                        LearningRateSchedule.constant(1e-3),
                        model.gradientMemory())) {
            for (int pass = 0; pass < passes; pass++) {
                try (Step step = model.step()) {
                    module.zero_grad(true);
                    step.backward(module.forward(torch.ones(1, width)).sum());
                    optimizer.step();
                }
            }
            world.group().barrier();
            double allocated = (double) LiveMemory.bytes() / RANKS;
            world.group().barrier();
            return allocated + model.gradientMemory().segments().getFirst().byteSize();
        }
    }
}

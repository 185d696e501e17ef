package io.jrun.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.assertj.core.data.Percentage;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The losses of the 3.7M-parameter GPT with DDP on two ranks against those of PyTorch's DDP, which ddp-losses.txt
 * keeps. All 30 steps of both optimizers: -Djrun.soak=true.
 */
class DdpLossTest {
    private static final int RANKS = 2;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @CsvSource({"sgd,1,3", "fused,2,5"})
    void lossesEqualThoseOfPyTorch(BenchOptimizer optimizer, int column, int steps) throws IOException {
        double[] golden = golden(column);
        int count = Boolean.getBoolean("jrun.soak") ? golden.length : steps;
        double[] losses = new double[count];
        LocalWorld.run(RANKS, world -> {
            BenchGpt model = new BenchGpt();
            BenchData.fill(model);
            try (TrainingLoop loop = new DdpLoop(model, world.group(), optimizer, BenchPrecision.f32)) {
                for (int step = 0; step < count; step++) {
                    try (PointerScope _ = new PointerScope()) {
                        double[] loss = {
                            loop.step(BenchData.batch(step, world.rank(), RANKS))
                                    .loss()
                        };
                        world.group().allReduce(MemorySegment.ofArray(loss), DataType.F64, 1, ReduceOp.AVG);
                        if (world.rank() == 0) {
                            losses[step] = loss[0];
                        }
                    }
                }
            }
        });
        for (int step = 0; step < count; step++) {
            double tolerance = step < 10 ? 1e-5 : 1e-4;
            assertThat(losses[step])
                    .as("step " + (step + 1))
                    .isCloseTo(golden[step], Percentage.withPercentage(100 * tolerance));
        }
    }

    /** The same losses from blocks that the ranks share, on the batches of all ranks. */
    @Test
    void lossesOfTensorParallelismEqualThoseOfPyTorch() throws IOException {
        double[] golden = golden(2);
        int count = 3;
        LocalWorld.run(RANKS, world -> {
            BenchGpt model = new BenchGpt();
            BenchData.fill(model);
            model.shareBlocks(world.group());
            try (TrainingLoop loop = new LocalLoop(model, BenchOptimizer.fused, BenchPrecision.f32)) {
                for (int step = 0; step < count; step++) {
                    try (PointerScope _ = new PointerScope()) {
                        double loss =
                                loop.step(BenchData.batchOfAll(step, RANKS)).loss();
                        assertThat(loss)
                                .as("step " + (step + 1))
                                .isCloseTo(golden[step], Percentage.withPercentage(1e-3));
                    }
                }
            }
        });
    }

    /** The same losses from blocks whose parameters the ranks share. */
    @Test
    void lossesOfFullyShardedTrainingEqualThoseOfPyTorch() throws IOException {
        double[] golden = golden(2);
        int count = 4;
        LocalWorld.run(RANKS, world -> {
            BenchGpt model = new BenchGpt();
            BenchData.fill(model);
            try (TrainingLoop loop = new FsdpLoop(model, world.group(), BenchOptimizer.fused, BenchPrecision.f32)) {
                for (int step = 0; step < count; step++) {
                    double[] loss = {
                        loop.step(BenchData.batch(step, world.rank(), RANKS)).loss()
                    };
                    world.group().allReduce(MemorySegment.ofArray(loss), DataType.F64, 1, ReduceOp.AVG);
                    assertThat(loss[0])
                            .as("step " + (step + 1))
                            .isCloseTo(golden[step], Percentage.withPercentage(1e-3));
                }
            }
        });
    }

    private static double[] golden(int column) throws IOException {
        try (InputStream file = Objects.requireNonNull(DdpLossTest.class.getResourceAsStream("ddp-losses.txt"))) {
            List<String> lines = new String(file.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            return lines.stream()
                    .filter(line -> !line.startsWith("#"))
                    .mapToDouble(line -> Double.parseDouble(line.split(" ", -1)[column]))
                    .toArray();
        }
    }
}

package io.jrun.train.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A model is built on ranks that share the layers and each layer. */
class StageLayersTest {
    private static final int RANKS = 4;
    private static final long WIDTH = 1024;
    private static final long BLOCK_BYTES = 2 * WIDTH * WIDTH * Float.BYTES;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static final class Block extends CompositeModule {
        private final LinearLayer up = add("up", new LinearLayer(WIDTH, WIDTH, false));
        private final LinearLayer down = add("down", new LinearLayer(WIDTH, WIDTH, false));

        private Tensor forward(Tensor x) {
            return down.forward(up.forward(x));
        }
    }

    private static CompositeModule build(World world, int blocks, Consumer<ModelBlock> probe) {
        try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "tp", 2)) {
            var schedule = ScheduleKind.ONE_FORWARD_ONE_BACKWARD.schedule(2, 1, 2);
            var stages = new StageLayers(StageCut.byCount(blocks, 2), schedule, mesh.axis("pp"), 0);
            var tensor = new TensorParallel(
                    mesh.axis("tp"),
                    false,
                    Map.of("block*.up", ParallelStyle.COLUMN, "block*.down", ParallelStyle.ROW));
            CompositeModule model = new CompositeModule();
            for (int i = 0; i < blocks; i++) {
                Block module = model.add("block" + i, new Block());
                ModelBlock block = new ModelBlock("block" + i, i, module, module::forward);
                probe.accept(block);
                tensor.apply(block);
                assertThat(stages.keeps(block)).isEqualTo(mesh.coordinate("pp") == 2 * i / blocks);
            }
            tensor.apply(model);
            assertThat(Parameters.of(model)).hasSize(2 * blocks);
            return model;
        }
    }

    /** Each rank holds half of each of its blocks, and one whole block. The probe runs when a block is whole. */
    @Test
    void noRankHoldsTheWholeModelWhileTheModelIsBuilt() {
        int blocks = 12;
        LocalWorld.run(RANKS, world -> build(world, 2, _ -> {})); // first use of all
        AtomicLong peak = new AtomicLong();
        LiveMemory.freeUnreachable();
        long before = LiveMemory.bytes();
        LocalWorld.run(
                RANKS,
                world -> build(world, blocks, _ -> peak.accumulateAndGet(LiveMemory.bytes() - before, Math::max)));
        double held = peak.get() / (double) BLOCK_BYTES / RANKS;
        System.out.printf("peak of a model of %d blocks on %d ranks: %.2f blocks a rank%n", blocks, RANKS, held);
        assertThat(held).isBetween(1.0, blocks / 4.0 + 2);
    }
}

package io.jrun.train.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.reducer.StageReplicas;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Messages and reductions travel while stages compute. */
class PipelineOverlapTest {
    /** More than a rank keeps without a receive at once: a send that waits would wait for the receiver. */
    private static final long LARGE = 16 << 20;

    private static final int MICRO_BATCHES = 3;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Rank 1 begins when rank 0 has computed all micro-batches. A send that waits for rank 1 would wait for ever. */
    @Test
    void aStageComputesWhileItsOutputsTravel() {
        var schedule = ScheduleKind.GPIPE.schedule(2, 1, MICRO_BATCHES).forwardOnly(MICRO_BATCHES);
        CountDownLatch computed = new CountDownLatch(MICRO_BATCHES);
        LocalWorld.run(2, world -> {
            PipelineExecutor executor = new PipelineExecutor(schedule, world.group(), Device.CPU);
            if (world.rank() == 1) {
                assertThat(computed.await(20, TimeUnit.SECONDS))
                        .as("rank 0 computes without rank 1")
                        .isTrue();
            }
            executor.run(new LargeOutputs(computed));
            assertThat(executor.bytesSent()).isEqualTo(world.rank() == 0 ? MICRO_BATCHES * LARGE : 0);
        });
    }

    private record LargeOutputs(CountDownLatch computed) implements StageComputation {
        @Override
        public @Nullable Tensor forward(PipelineAction action, @Nullable Tensor input) {
            if (input != null) {
                input.close();
                return null;
            }
            computed.countDown();
            return TensorMemory.own(torch.zeros(LARGE / Float.BYTES));
        }

        @Override
        public @Nullable Tensor backward(PipelineAction action, @Nullable Tensor outputGradient) {
            throw new IllegalStateException("a forward pass has no " + action);
        }

        @Override
        public void weightBackward(PipelineAction action) {
            throw new IllegalStateException("a forward pass has no " + action);
        }
    }

    /** Each rank has two stages. The gradients of the later stage travel before the earlier stage is done. */
    @Test
    void theGradientsOfAStageTravelWhileOtherStagesCompute() {
        LocalWorld.run(4, world -> {
            try (PointerScope _ = new PointerScope();
                    DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "dp", 2)) {
                TimedReplicas replicas = new TimedReplicas(
                        new StageReducer(mesh.axis("dp"), GradientPlacement.REPLICATED), new ArrayList<>());
                PipelineOptions options =
                        PipelineOptions.of(ScheduleKind.INTERLEAVED, 2, 2, 4).withReplicas(replicas);
                try (PipelineParallel model = new PipelineParallel(
                        new StagedGpt(false, false).layers(), StagedGpt::loss, mesh.axis("pp"), options)) {
                    List<Tensor> batch = Collections.nCopies(4, StagedGpt.batch(1, 2));
                    double _ = model.step(batch, batch);
                    ActionSpan last = model.report().spans().getLast();
                    assertThat(last.action().kind()).isEqualTo(ActionKind.FULL_BACKWARD);
                    assertThat(replicas.started().getFirst()).isLessThan(last.beginNanos());
                }
            }
        });
    }

    /** Real replicas, with the times at which reductions began. */
    private record TimedReplicas(StageReplicas real, List<Long> started) implements StageReplicas {
        @Override
        public Map<Integer, List<PipelineLayer>> takeOver(
                Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
            return real.takeOver(stages, isTied);
        }

        @Override
        public void backward(Runnable pass, boolean isLast) {
            real.backward(pass, isLast);
        }

        @Override
        public void start(Collection<Tensor> parameters) {
            started.add(System.nanoTime());
            real.start(parameters);
        }

        @Override
        public void await() {
            real.await();
        }

        @Override
        public ShardedTensor kept(ShardedTensor parameter) {
            return real.kept(parameter);
        }

        @Override
        public void close() {
            real.close();
        }
    }
}

package io.jrun.train;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.expert.ExpertStack;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Trainings whose ranks share layers or states, on simulated GPUs. First the collectives run as late as the order of the
 * streams allows, and the parameters have the bits of the same training in host memory. Then the GPUs stand still, and
 * the host queues a step. A step that waited for its GPU would not end.
 */
@Timeout(120)
class RunsAheadTest {
    private static final int RANKS = 2;
    private static final int STEPS = 3;
    private static final int NOT_READY = 600;
    private static final Duration TIMEOUT = Duration.ofSeconds(40);

    @TempDir
    private Path folder;

    /** What the ranks share. */
    enum Kind {
        TP,
        SP,
        FSDP,
        ZERO_1,
        ZERO_2,
        EXPERTS;

        /** The waits of a rank in a step without a bound of the norm: one for the choices of each layer of experts. */
        int waits() {
            return this == EXPERTS ? 2 : 0;
        }
    }

    /** The training of one rank. */
    private record Training(
            Supplier<Step> steps,
            IntFunction<Tensor> loss,
            Map<String, ShardedTensor> parameters,
            ParameterOptimizer optimizer,
            Runnable end)
            implements AutoCloseable {
        static Training of(World world, Kind kind) {
            boolean areLayersShared = kind == Kind.TP || kind == Kind.SP;
            DeviceMesh mesh = areLayersShared
                    ? DeviceMesh.of(world, "dp", 1, "inner", RANKS)
                    : DeviceMesh.of(world, "dp", RANKS, "inner", 1);
            IntFunction<ParallelTraining.Batch> batches = step ->
                    ParallelTraining.batch(step, false).texts(2L * mesh.coordinate("dp"), areLayersShared ? 4 : 2);
            var options = TinyTransformer.Options.of(torch.ScalarType.Float);
            if (kind == Kind.EXPERTS) {
                var model = new ExpertStack(new ExpertOptions(4, 2, 1.25, 0.05, 0.01), torch.ScalarType.Float, false);
                new ExpertParallel(mesh.axis("dp")).apply(model);
                return replicas(mesh.group("dp"), model, kind, step -> model.loss(10 * step + world.rank()));
            }
            if (kind == Kind.FSDP) {
                var fsdp = new FullyShardedDataParallel(mesh.axis("dp"), FsdpOptions.DEFAULT);
                var model = new TinyTransformer(options, block -> FullyShard.apply(block, fsdp));
                FullyShard.apply(model, fsdp);
                return new Training(
                        fsdp::step,
                        step -> loss(model, batches.apply(step)),
                        fsdp.parameters(),
                        flat(fsdp.parameters(), fsdp.gradientMemory()),
                        () -> {});
            }
            TensorParallel tensor = new TensorParallel(mesh.axis("inner"), kind == Kind.SP, TinyTransformer.plan(2));
            var model = new TinyTransformer(options, tensor::apply);
            tensor.apply(model);
            return replicas(mesh.group("dp"), model, kind, step -> loss(model, batches.apply(step)));
        }

        private static <M extends Module> Training replicas(
                ProcessGroup group, M model, Kind kind, IntFunction<Tensor> loss) {
            GradientPlacement placement = switch (kind) {
                case ZERO_1 -> GradientPlacement.SHARDED_STATES;
                case ZERO_2 -> GradientPlacement.SHARDED_GRADIENTS;
                default -> GradientPlacement.REPLICATED;
            };
            var ddp = new DistributedDataParallel<>(
                    model, group, DdpOptions.DEFAULT.withBuckets(2000, 10_000).withPlacement(placement));
            ParameterOptimizer optimizer = placement == GradientPlacement.REPLICATED
                    ? flat(Parameters.of(model), ddp.gradientMemory())
                    : ZeroOptimizer.of(ddp.reducer(), FusedAdamW.DEFAULT, ParameterGroup.all(0), rate());
            return new Training(ddp::step, loss, Parameters.of(model), optimizer, ddp::close);
        }

        private static FlatOptimizer flat(Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
            return new FlatOptimizer(parameters, FusedAdamW.DEFAULT, ParameterGroup.all(0), rate(), gradients);
        }

        private static LearningRateSchedule rate() {
            return LearningRateSchedule.constant(0.01);
        }

        private static Tensor loss(TinyTransformer model, ParallelTraining.Batch batch) {
            return model.loss(batch.tokens(), batch.next());
        }

        /** @param maximum the largest norm of the gradients; 0: any norm */
        void step(int number, double maximum) {
            try (PointerScope _ = new PointerScope();
                    Step step = steps.get()) {
                optimizer.zeroGradients();
                step.backward(loss.apply(number));
                if (maximum > 0) {
                    Gradients.clip(parameters.values(), maximum);
                }
                optimizer.step();
            }
        }

        List<float[]> values() {
            List<float[]> values = new ArrayList<>();
            parameters
                    .values()
                    .forEach(parameter -> values.add(TensorMemory.segment(
                                    DeviceWaits.onHost(parameter.local().detach()))
                            .toArray(ValueLayout.JAVA_FLOAT)));
            return values;
        }

        @Override
        public void close() {
            optimizer.close();
            end.run();
        }
    }

    /** The program of the test. */
    public static final class Trains {
        private Trains() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            for (Kind kind : Kind.values()) {
                List<float[]> onHost = train(kind, false);
                SimulatedPlacement.installForRanks();
                List<float[]> onDevices = train(kind, true);
                SimulatedPlacement.remove();
                assertEqualBits(onDevices, onHost);
                System.out.println(kind + " ran ahead with equal bits");
            }
        }

        /** The parameters of all ranks after some steps. */
        private static List<float[]> train(Kind kind, boolean isOnDevices) {
            AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(RANKS);
            LocalWorldOptions options =
                    LocalWorldOptions.ofSize(RANKS).withDeterministic(true).withTimeout(TIMEOUT);
            LocalWorld.run(options, world -> {
                try (Training training = Training.of(world, kind)) {
                    training.step(0, 0.5); // connects the ranks, and makes new buckets
                    long waits = waits(world);
                    for (int number = 1; number < STEPS; number++) {
                        training.step(number, 0.5);
                    }
                    if (isOnDevices && kind == Kind.ZERO_2) {
                        // One wait for the norms of all parts. The placement counts their norm too, which is on the
                        // host.
                        assertThat(waits(world) - waits).isEqualTo(RANKS * (STEPS - 1) * 2L);
                    }
                    results.set(world.rank(), training.values());
                    if (isOnDevices) {
                        queueStep(world, training, kind);
                    }
                }
            });
            List<float[]> all = new ArrayList<>(results.get(0));
            all.addAll(results.get(1));
            return all;
        }

        /** The waits of all ranks. */
        private static long waits(World world) {
            world.group().barrier();
            long waits = DeviceWaits.count();
            world.group().barrier();
            return waits;
        }

        /** libtorch computes with memory that no collective has filled, so the numbers mean nothing from here on. */
        private static void queueStep(World world, Training training, Kind kind) {
            DeviceStream stream = DeviceStream.defaultOf(Device.cuda(world.localRank()));
            SimulatedCuda.synchronize(stream.device());
            long waits = waits(world);
            SimulatedCuda.set("SIMCUDA_LATE", "0");
            world.group().barrier();
            SimulatedCuda.hold(stream);
            training.step(STEPS, 0);
            assertThat(SimulatedCuda.query(stream)).isEqualTo(NOT_READY);
            assertThat(waits(world) - waits).as("waits of %s", kind).isEqualTo((long) RANKS * kind.waits());
            SimulatedCuda.release();
            SimulatedCuda.synchronize(stream.device());
            world.group().barrier();
            SimulatedCuda.set("SIMCUDA_LATE", "1");
            world.group().barrier();
        }
    }

    @Test
    void theHostQueuesAStepWhileTheDevicesStandStill() throws Exception {
        String printed = SimulatedCuda.start(folder, Trains.class, Map.of("SIMCUDA_LATE", "1"))
                .join();
        for (Kind kind : Kind.values()) {
            assertThat(printed).contains(kind + " ran ahead with equal bits");
        }
    }
}

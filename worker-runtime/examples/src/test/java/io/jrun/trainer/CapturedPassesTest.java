package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.examples.gpt.GptModelOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.device.DeviceRequest;
import io.jrun.train.device.RepeatedWork;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.device.DeviceOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.bytedeco.pytorch.DropoutImpl;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code --cuda-graph} on a simulated GPU: the parameters are those without the option, bit for bit. The recorded work runs
 * again as code; kernels in a graph are checked by scripts/gpu-check.
 */
@Timeout(300)
class CapturedPassesTest {
    private static final int STEPS = 8;

    @TempDir
    private Path folder;

    private static void take(Supplier<StepBatch> batches) {
        StepBatch _ = batches.get();
    }

    /** The program of the JVM with a simulated GPU. */
    public static final class Trains {
        private Trains() {}

        /** Entry point. The argument is a folder for the trained models. */
        public static void main(String[] args) throws Exception {
            Path folder = Path.of(args[0]);
            Libtorch.setThreads(1);
            SimulatedPlacement.installForRanks();
            refuseWithoutLibrary();
            RepeatedWork.install();
            compare(
                    folder,
                    "--precision=f16 --clip=0.1 --accumulate=2 --eval-every=3 --checkpoint-every=5 --checkpoint="
                            + folder.resolve("checkpoint"));
            compare(
                    folder,
                    "--clip=0 --optimizer=fused-sgd --lr-schedule=one-cycle --warmup=0 --ema=0.5 --log-every=3");
            compare(folder, "--precision=fp8");
            resumeWithDropout(folder);
            refuseAnotherShape();
            System.out.println("done");
        }

        private static void compare(Path folder, String options) throws Exception {
            int before = RepeatedWork.replays();
            byte[] expected = train(folder.resolve("without"), options.replace("/checkpoint", "/without-graph"));
            assertThat(RepeatedWork.replays()).isEqualTo(before);
            byte[] found = train(folder.resolve("with"), options + " --cuda-graph");
            assertThat(Arrays.mismatch(found, expected)).as(options).isNegative();
            assertThat(RepeatedWork.replays()).as(options).isEqualTo(before + STEPS - 3);
        }

        /** The masks follow the step, with a graph and without one, also after a resume. */
        private static void resumeWithDropout(Path folder) throws Exception {
            Path checkpoint = folder.resolve("dropout");
            byte[] expected = train(folder.resolve("whole"), withDropout(), "--clip=1");
            train(
                    folder.resolve("stopped"),
                    withDropout(),
                    "--cuda-graph --checkpoint-every=4 --checkpoint=" + checkpoint);
            byte[] found = train(
                    folder.resolve("resumed"), withDropout(), "--cuda-graph --resume=4 --checkpoint=" + checkpoint);
            assertThat(Arrays.mismatch(found, expected)).isNegative();
        }

        private static ModelOptions withDropout() {
            return ModelOptions.none(setup -> new LayeredModel(setup) {
                {
                    first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), 8), EmbeddingImpl::forward);
                    block(() -> new DropoutImpl(0.5), DropoutImpl::forward);
                    block(() -> new DropoutLayer(0.5, 1, setup.device()), DropoutLayer::forward);
                    last("head", () -> new LinearImpl(8, setup.vocabulary()), LinearImpl::forward);
                }
            });
        }

        /** This JVM has libtorch's CPU build, which has no graphs. */
        private static void refuseWithoutLibrary() {
            assertThatThrownBy(() -> new CapturedPasses(Device.cuda(0), 1))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessage("--cuda-graph cannot make a graph: libtorch_cuda.so is not loaded: CUDA graphs need"
                            + " libtorch's CUDA build. Give no --cuda-graph.");
        }

        private static void refuseAnotherShape() {
            TrainableModel model =
                    GptArguments.parse("--tiny").orElseThrow().definition().build(_ -> {});
            StepMetrics metrics = new StepMetrics(0, (_, _) -> {});
            try (CapturedPasses passes = new CapturedPasses(Device.cuda(0), 1)) {
                for (int step = 1; step <= 5; step++) {
                    passes.run(model, metrics, () -> batch(2), CapturedPassesTest::take);
                }
                assertThatThrownBy(() -> passes.run(model, metrics, () -> batch(3), CapturedPassesTest::take))
                        .isInstanceOf(InvalidArgumentException.class)
                        .hasMessage("--cuda-graph needs equal batches in all steps: the recorded step has inputs"
                                + " Long[2, 4], targets Long[2, 4], weight 1.0, a later step has inputs Long[3, 4],"
                                + " targets Long[3, 4], weight 1.0. Give no --cuda-graph.");
            }
        }

        private static StepBatch batch(int samples) {
            Tensor tokens = Tensor.create(new long[4 * samples], samples, 4);
            return StepBatch.of(new Batch(tokens, tokens));
        }

        private static byte[] train(Path out, String options) throws Exception {
            return train(out, new GptModelOptions(), options);
        }

        private static byte[] train(Path out, ModelOptions model, String options) throws Exception {
            LocalWorld.run(1, world -> train(out, model, options, world));
            return Files.readAllBytes(out);
        }

        private static void train(Path out, ModelOptions model, String options, World world) {
            String[] arguments = Stream.concat(
                            Stream.of(
                                    "--tiny",
                                    "--steps=" + STEPS,
                                    "--context=16",
                                    "--micro-batch=2",
                                    "--max-bytes=8000",
                                    "--out=" + out),
                            Stream.of(options.split(" ", -1)))
                    .toArray(String[]::new);
            TrainingArguments given =
                    TrainingArguments.parse(arguments, model, 1).orElseThrow();
            DeviceOptions device =
                    new DeviceOptions(DeviceRequest.AUTO, false, given.device().usesGraph(), Device.cuda(0));
            Trainer.train(given.withDevice(device), world, Progress.SILENT);
        }
    }

    @Test
    void theParametersAreThoseWithoutAGraph() throws Exception {
        assertThat(SimulatedCuda.start(folder, Trains.class, Map.of("SIMCUDA_INLINE", "1"), folder.toString())
                        .join())
                .endsWith("done\n");
    }
}

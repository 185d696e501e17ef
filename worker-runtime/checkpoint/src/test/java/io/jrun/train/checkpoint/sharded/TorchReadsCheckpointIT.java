package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.pickle.TorchFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** torch in Python reads a checkpoint of jrun, and jrun reads what torch saves. */
class TorchReadsCheckpointIT {
    @TempDir
    private Path folder;

    @Test
    void torchReadsTheCheckpointOfThreeRanksAndJrunReadsWhatTorchSaves() throws Exception {
        String python = System.getenv().getOrDefault("JRUN_TEST_TORCH_PYTHON", "");
        assumeFalse(python.isEmpty(), "skipped: JRUN_TEST_TORCH_PYTHON names no Python that has torch");
        Libtorch.setThreads(1);
        Map<String, Tensor> tensors = tensors();
        LocalWorld.run(3, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), "run", Retention.DEFAULT)) {
                MeshAxis axis = new MeshAxis("dp", world.group());
                StateDict state = new StateDict();
                tensors.forEach((name, tensor) -> {
                    if (name.startsWith("replicated")) {
                        state.put(name, tensor);
                    } else {
                        int dimension = name.startsWith("columns") ? 1 : 0;
                        state.put("", ShardedTensor.distribute(name, tensor, new Shard(dimension), axis));
                    }
                });
                manager.save(1, state);
            }
        });
        Path saved = folder.resolve("whole.pth");
        run(python, resource("whole.py"), folder.resolve("step-00000001").toString(), saved.toString());
        try (TensorFile file = TorchFile.open(saved)) {
            assertThat(file.names()).hasSize(2 * tensors.size());
            tensors.forEach((name, tensor) -> {
                assertThat(file.load(name).equal(tensor)).as(name).isTrue();
                assertThat(file.load(name).scalar_type().intern())
                        .isEqualTo(tensor.scalar_type().intern());
                assertThat(file.load("sums." + name).item_double())
                        .as("the sum of " + name + " in torch")
                        .isEqualTo(tensor.to(ScalarType.Double).sum().item_double());
            });
        }
    }

    /** Whole numbers, so that all sums are exact. */
    private static Map<String, Tensor> tensors() {
        Map<String, Tensor> tensors = new TreeMap<>();
        for (ScalarType type :
                List.of(ScalarType.Float, ScalarType.Double, ScalarType.Half, ScalarType.BFloat16, ScalarType.Long)) {
            Tensor values = torch.arange(new Scalar(7 * 5)).view(7, 5).to(type);
            tensors.put("rows." + type.name(), values);
            tensors.put("columns." + type.name(), values.neg());
            tensors.put("replicated." + type.name(), values.mul(values).remainder(new Scalar(64)));
        }
        return tensors;
    }

    private static String resource(String name) {
        return Path.of(Objects.requireNonNull(TorchReadsCheckpointIT.class.getResource(name))
                        .getPath())
                .toString();
    }

    private void run(String... command) throws IOException, InterruptedException {
        Path out = folder.resolve("python.txt");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        boolean ended = process.waitFor(5, TimeUnit.MINUTES);
        process.destroyForcibly();
        assertThat(ended)
                .as(() -> "an end within 5 minutes of " + List.of(command))
                .isTrue();
        assertThat(process.exitValue()).as(Files.readString(out)).isZero();
    }
}

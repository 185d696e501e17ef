package io.jrun.train.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.tensor.ModuleTensors;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongArray;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WeightLoaderTest {
    private static final int RANKS = 4;
    private static final long TENSOR_BYTES = (6 + 2 + 8 + 4) * Float.BYTES;
    private static final NameMapping MAPPING =
            NameMapping.of(Map.of("^net\\.", "", "gamma$", "weight"), List.of("position_ids"));

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    private static final class Net extends Module {
        Net() {
            register_module("first", new LinearImpl(3, 2));
            register_module("second", new LinearImpl(2, 4));
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyRankHasTheWeightsAndOnlyReadersRead(WeightReaders readers) {
        SafetensorsFolder.write(folder, tensors(), Map.of(), 64);
        AtomicLongArray bytesRead = new AtomicLongArray(RANKS);
        LocalWorld.run(LocalWorldOptions.ofNodes(List.of(2, 2)), world -> {
            Net net = new Net();
            bytesRead.set(world.rank(), WeightLoader.load(net, folder, MAPPING, world, readers));
            assertLoaded(net);
        });
        List<Long> expected = switch (readers) {
            case EVERY_RANK -> List.of(TENSOR_BYTES, TENSOR_BYTES, TENSOR_BYTES, TENSOR_BYTES);
            case ONE_PER_NODE -> List.of(TENSOR_BYTES, 0L, TENSOR_BYTES, 0L);
            case RANK_0 -> List.of(TENSOR_BYTES, 0L, 0L, 0L);
        };
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(bytesRead.get(rank)).as("rank %d", rank).isEqualTo(expected.get(rank));
        }
    }

    @ParameterizedTest
    @EnumSource
    void allRanksFailWithTheSameLine(WeightReaders readers) {
        Map<String, Tensor> tensors = tensors();
        tensors.remove("net.second.bias");
        tensors.put("net.third.bias", torch.ones(1));
        SafetensorsFolder.write(folder, tensors, Map.of(), 1000);
        LocalWorld.run(
                LocalWorldOptions.ofNodes(List.of(2, 2)),
                world -> assertThatThrownBy(() -> WeightLoader.load(new Net(), folder, MAPPING, world, readers))
                        .isInstanceOf(CheckpointException.class)
                        .hasMessage(folder
                                + " is of another model: the file lacks [second.bias] and has unknown [third.bias]."
                                + " Check the type and the sizes in config.json."));
    }

    @Test
    void aFileThatEndsEarlyFailsAllRanks() throws IOException {
        SafetensorsFolder.write(folder, tensors(), Map.of(), 1000);
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    Net net = new Net();
                    NameMapping cutting = name -> {
                        cut(folder.resolve("model.safetensors"));
                        return MAPPING.modelName(name);
                    };
                    WeightLoader.load(net, folder, cutting, world, WeightReaders.RANK_0);
                }))
                .hasMessageContaining("the file ends at byte")
                .hasMessageContaining("model.safetensors");
    }

    @Test
    void shapesMustBeEqual() {
        Map<String, Tensor> tensors = tensors();
        tensors.put("net.first.gamma", torch.ones(3, 2));
        SafetensorsFolder.write(folder, tensors, Map.of(), 1000);
        assertThatThrownBy(() -> WeightLoader.load(new Net(), folder, MAPPING))
                .hasMessageContaining("tensor 'first.weight' has the shape [3, 2] in ")
                .hasMessageContaining("but [2, 3] in the program");
    }

    @Test
    void aMissingFileOfAnIndexIsNamed() throws IOException {
        SafetensorsFolder.write(folder, tensors(), Map.of(), 64);
        Files.delete(folder.resolve("model-00002-of-00002.safetensors"));
        assertThatThrownBy(() -> WeightFiles.open(folder))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("index.json names the file model-00002-of-00002.safetensors, which is missing."
                        + " Copy all 2 files of the model to the folder.");
    }

    @Test
    void anIndexThatDisagreesWithAFileIsAnError() {
        SafetensorsFolder.write(folder, tensors(), Map.of(), 64);
        Safetensors.write(folder.resolve("model-00002-of-00002.safetensors"), Map.of("x", torch.ones(1)), Map.of());
        assertThatThrownBy(() -> WeightFiles.open(folder))
                .hasMessageContaining("says that tensor 'net.")
                .hasMessageContaining("is in model-00002-of-00002.safetensors, but the file lacks the tensor");
    }

    @Test
    void aFolderWithoutWeightsSaysWhatIsExpected() {
        assertThatThrownBy(() -> WeightFiles.open(folder))
                .hasMessageContaining(
                        "has no weights: expected one of model.safetensors, model.safetensors.index.json");
        assertThatThrownBy(() -> WeightFiles.open(folder.resolve("none.pth")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("none.pth");
    }

    private static Map<String, Tensor> tensors() {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        tensors.put("net.first.gamma", values(6).view(2, 3));
        tensors.put("net.first.bias", values(2));
        tensors.put("net.second.weight", values(8).view(4, 2).to(ScalarType.Float));
        tensors.put("net.second.bias", values(4));
        tensors.put("net.position_ids", values(5));
        return tensors;
    }

    private static Tensor values(int count) {
        return torch.arange(new Scalar(count)).to(ScalarType.Float).add(new Scalar(count));
    }

    private static void assertLoaded(Net net) {
        Map<String, Tensor> own = ModuleTensors.all(net);
        assertThat(own).hasSize(4);
        tensors()
                .forEach((name, tensor) -> MAPPING.modelName(name)
                        .ifPresent(mapped -> assertThat(
                                        Objects.requireNonNull(own.get(mapped)).equal(tensor))
                                .as(mapped)
                                .isTrue()));
    }

    private static void cut(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() - 40);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

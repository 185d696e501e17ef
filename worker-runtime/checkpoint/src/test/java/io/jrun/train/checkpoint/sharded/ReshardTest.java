package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Replicate;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.mesh.TensorPlacement;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** States of one number of ranks are loaded by another number of ranks. */
class ReshardTest {
    private static Map<String, Tensor> wholes = Map.of();

    @TempDir
    private Path folder;

    /** Parameters and AdamW's state after two steps, and tensors of every shape that is special. */
    @BeforeAll
    static void train() {
        Libtorch.setThreads(1);
        TinyGpt model = new TinyGpt(1, 16, 8);
        AdamW optimizer = new AdamW(model.parameters(), new AdamWOptions(0.01));
        for (int step = 0; step < 2; step++) {
            optimizer.zero_grad();
            model.loss(TinyGpt.tokens(step, 2, 8), TinyGpt.tokens(step + 9, 2, 8))
                    .backward();
            optimizer.step();
        }
        Map<String, Tensor> all = new LinkedHashMap<>();
        ModuleTensors.parameters(model).forEach((name, tensor) -> all.put("model." + name, tensor));
        OptimizerState.of(optimizer, ModuleTensors.parameters(model))
                .forEach((name, tensor) -> all.put("optimizer." + name, tensor));
        all.put("uneven", whole(5, 7, 3));
        all.put("joint.weight", whole(9, 6));
        all.put("joint.bias", whole(9));
        all.put("fewerRowsThanRanks", whole(2, 3));
        all.put("empty", whole(0, 3));
        all.put("half", whole(7, 5).to(torch.ScalarType.Half));
        all.put("bfloat", whole(6, 1).to(torch.ScalarType.BFloat16));
        wholes = all;
    }

    private static Tensor whole(long... shape) {
        long elements = 1;
        for (long size : shape) {
            elements *= size;
        }
        return TensorMemory.own(
                torch.arange(new Scalar(elements)).to(torch.ScalarType.Float).view(shape));
    }

    /** The placement decides by name: the same tensor is sharded along dimension 0 or 1, or replicated. */
    private static TensorPlacement placement(String name, int shift) {
        Tensor tensor = Objects.requireNonNull(wholes.get(name));
        int choice = Math.floorMod(name.hashCode() + shift, 3);
        if (name.startsWith("joint") && choice < tensor.dim()) {
            return new Shard(choice, 3); // three boxes on a rank
        }
        return choice < Math.min(2, tensor.dim()) ? new Shard(choice) : new Replicate();
    }

    private static StateDict state(World world, int shift, boolean zeroed) {
        MeshAxis axis = new MeshAxis("dp", world.group());
        StateDict state = new StateDict();
        wholes.forEach((name, tensor) -> {
            ShardedTensor part = ShardedTensor.distribute(name, tensor, placement(name, shift), axis);
            if (zeroed) {
                part.local().zero_();
            }
            state.put("", part);
        });
        return state.putText("note", "saved by " + world.size());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void aStateIsLoadedByAnyNumberOfRanksBitForBit(int savers) {
        LocalWorld.run(savers, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                manager.save(7, state(world, 0, false));
            }
        });
        for (int loaders = 1; loaders <= 4; loaders++) {
            LocalWorld.run(loaders, world -> {
                try (CheckpointManager manager =
                        CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                    assertThat(manager.latest()).hasValue(7);
                    SavedCheckpoint saved = manager.open(7);
                    assertThat(saved.texts()).containsEntry("note", "saved by " + savers);
                    for (int shift = 0; shift < 3; shift++) {
                        StateDict loaded = state(world, shift, true);
                        saved.load(loaded);
                        assertEqual(loaded, state(world, shift, false));
                    }
                }
            });
        }
    }

    static void assertEqual(StateDict actual, StateDict expected) {
        Map<String, byte[]> bits = bits(expected);
        bits(actual).forEach((name, bytes) -> assertThat(bytes).as(name).isEqualTo(bits.get(name)));
        assertThat(actual.entries()).hasSameSizeAs(expected.entries());
    }

    private static Map<String, byte[]> bits(StateDict state) {
        Map<String, byte[]> bits = new LinkedHashMap<>();
        state.entries()
                .forEach(entry -> bits.put(
                        entry.key(),
                        TensorMemory.segment(entry.local().contiguous()).toArray(ValueLayout.JAVA_BYTE)));
        return bits;
    }

    @Test
    void wholeTensorsComeBackByTheirPrefix() {
        saveWith(3);
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            Map<String, Tensor> read = manager.open(7).read("optimizer.");
            assertThat(read).hasSizeGreaterThan(10);
            read.forEach((name, tensor) -> assertThat(tensor.equal(wholes.get("optimizer." + name)))
                    .as(name)
                    .isTrue());
        }
    }

    private void saveWith(int ranks) {
        LocalWorld.run(ranks, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                manager.save(7, state(world, 0, false));
            }
        });
    }

    /** Each rank writes about its share, and a replicated tensor is written once. */
    @Test
    void ranksWriteEqualShares() throws IOException {
        Tensor large = TensorMemory.own(torch.ones(new long[] {4000, 1000}, new TensorOptions(torch.ScalarType.Float)));
        Tensor small = TensorMemory.own(torch.ones(new long[] {1000, 100}, new TensorOptions(torch.ScalarType.Float)));
        LocalWorld.run(4, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                manager.save(1, new StateDict().put("large", large).put("small", small));
            }
        });
        List<Long> sizes = new ArrayList<>();
        long tensors = 0;
        for (Path part : parts()) {
            sizes.add(Files.size(part));
            try (TensorFile file = Safetensors.open(part)) {
                tensors += file.names().stream()
                        .mapToLong(name -> file.stored(name).sizeBytes())
                        .sum();
            }
        }
        assertThat(sizes).hasSize(4).allMatch(size -> size > 3_500_000 && size < 4_500_000);
        assertThat(tensors).isEqualTo(16_000_000 + 400_000);
    }

    private List<Path> parts() throws IOException {
        try (Stream<Path> tree = Files.walk(folder)) {
            return tree.filter(file -> file.toString().endsWith(".safetensors")).toList();
        }
    }

    @Test
    void everyDamagedByteIsFound() throws IOException {
        saveWith(2);
        for (Path part : parts()) {
            byte[] whole = Files.readAllBytes(part);
            byte[] damaged = whole.clone();
            damaged[whole.length / 2] ^= 4;
            Files.write(part, damaged);
            assertThatThrownBy(this::loadAlone)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining(part.getFileName().toString())
                    .hasMessageContaining("is damaged");
            Files.write(part, Arrays.copyOf(whole, whole.length - 1));
            assertThatThrownBy(this::loadAlone).hasMessageContaining((whole.length - 1) + " bytes");
            Files.write(part, whole);
        }
        Path index = folder.resolve("step-00000007/checkpoint.json");
        String text = Files.readString(index);
        Files.writeString(index, text.replace("\"position\":", "\"position\": "));
        assertThatThrownBy(this::loadAlone)
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("its checksum is");
    }

    private void loadAlone() {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.open(7).read("");
        }
    }

    @Test
    void aStateThatDoesNotFitIsAnErrorOnAllRanksAndNothingIsSaved() throws IOException {
        Map<String, String> errors = new ConcurrentHashMap<>();
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                long rows = world.rank() == 0 ? 2 : 1;
                errors.put("overlap" + world.rank(), failure(manager, entry("w", 3, rows, 1)));
                errors.put("hole" + world.rank(), failure(manager, entry("w", 3, 1, world.rank() * 2L)));
                errors.put("shape" + world.rank(), failure(manager, entry("w", 3 + world.rank(), 3, 0)));
            }
        });
        assertThat(errors).hasSize(6);
        errors.forEach((name, message) -> assertThat(message)
                .as(name)
                .contains(
                        name.startsWith("overlap")
                                ? "the parts of tensor 'w' overlap"
                                : name.startsWith("hole")
                                        ? "the ranks hold 2 of the 3 elements"
                                        : "tensor 'w' is F32["));
        assertThat(folder).isEmptyDirectory();
    }

    private static StateEntry entry(String name, long size, long rows, long offset) {
        return new StateEntry(
                name,
                List.of(size),
                List.of(offset),
                torch.ones(new long[] {rows}, new TensorOptions(torch.ScalarType.Float)));
    }

    private static String failure(CheckpointManager manager, StateEntry entry) {
        try {
            manager.save(1, new StateDict().put(entry));
            return "saved";
        } catch (CheckpointException e) {
            return String.valueOf(e.getMessage());
        }
    }

    @Test
    void anotherModelIsRefusedAndNothingIsChanged() {
        saveWith(2);
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            SavedCheckpoint saved = manager.open(7);
            Tensor other = torch.zeros(new long[] {5, 7}, new TensorOptions(torch.ScalarType.Float));
            assertThatThrownBy(() -> saved.load(new StateDict().put("uneven", other)))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("'uneven' is F32[5, 7, 3] in the checkpoint but Float[5, 7] in the program");
            assertThatThrownBy(() -> saved.load(new StateDict().put("ghost", other)))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("lacks [ghost]");
            assertThatThrownBy(() -> manager.open(8))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("no checkpoint of step 8")
                    .hasMessageContaining("[7]");
        }
    }
}

package io.jrun.train.weights;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.DrawnCases;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.storage.FaultyFileSystem;
import io.jrun.train.storage.PowerFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process replaces a model in a folder, and dies at one write, fsync, rename, deletion or creation. The folder then has
 * the old model or the new model, never a mix.
 */
class KilledModelSaveIT {
    private static final int DRAWN = 4;
    private static final double OLD = 1;
    private static final double NEW = 2;
    /** Limits of the bytes of a file that give three files, and one. */
    private static final int THREE_FILES = 100;

    private static final int ONE_FILE = 1000;

    @TempDir
    private Path folder;

    /** A case: the limits of the old and of the new files, and the operation of the kill. */
    private record KillCase(int oldFileBytes, int newFileBytes, long at) {}

    @Test
    void everyKillLeavesTheOldOrTheNewModel() throws Exception {
        Libtorch.setThreads(1);
        List<KillCase> replaced = DrawnCases.of(counted(THREE_FILES, THREE_FILES), DRAWN);
        List<KillCase> others = DrawnCases.of(join(counted(ONE_FILE, THREE_FILES), counted(THREE_FILES, ONE_FILE)), 1);
        for (KillCase kill : join(replaced, others)) {
            Path model = prepared(kill.oldFileBytes());
            String output = killed(model, kill);
            assertThat(output).contains("killed at operation " + kill.at());
            boolean replacesIndex = kill.oldFileBytes() == THREE_FILES && kill.newFileBytes() == THREE_FILES;
            if (!replacesIndex || Files.exists(model.resolve(SafetensorsFolder.INDEX_FILE))) {
                assertThat(values(model)).as(output).hasSize(1);
            }
            save(model, kill.newFileBytes(), NEW);
            assertThat(values(model)).isEqualTo(Set.of(NEW));
        }
    }

    private static <T> List<T> join(List<T> first, List<T> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }

    /** One case for each operation of a save. */
    private List<KillCase> counted(int oldFileBytes, int newFileBytes) throws IOException {
        Path model = prepared(oldFileBytes);
        PowerFailure none = new PowerFailure(0);
        save(FaultyFileSystem.path(model, none), newFileBytes, NEW);
        assertThat(values(model)).isEqualTo(Set.of(NEW));
        return LongStream.rangeClosed(1, none.operations())
                .mapToObj(at -> new KillCase(oldFileBytes, newFileBytes, at))
                .toList();
    }

    private Path prepared(int fileBytes) throws IOException {
        Path model = Files.createTempDirectory(folder, "model");
        save(model, fileBytes, OLD);
        return model;
    }

    private String run(Path model, int fileBytes, long at) throws IOException, InterruptedException {
        return JavaProcess.start(
                        folder,
                        ModelSaver.class,
                        List.of(),
                        Map.of(),
                        model.toString(),
                        Integer.toString(fileBytes),
                        Long.toString(at))
                .join();
    }

    private String killed(Path model, KillCase kill) throws IOException, InterruptedException {
        try {
            return run(model, kill.newFileBytes(), kill.at());
        } catch (AssertionError killed) {
            assertThat(killed).hasMessageContaining("exit code " + PowerFailure.KILLED);
            return String.valueOf(killed.getMessage());
        }
    }

    /** The values of all elements of the model. */
    private static Set<Double> values(Path model) {
        Set<Double> values = new TreeSet<>();
        try (WeightFiles files = WeightFiles.open(model)) {
            assertThat(files.names()).hasSize(3);
            for (String name : files.names()) {
                Tensor tensor = files.fileOf(name).load(name);
                values.add(tensor.min().item_double());
                values.add(tensor.max().item_double());
            }
        }
        return values;
    }

    private static void save(Path model, int fileBytes, double value) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (String name : List.of("a", "b", "c")) {
            tensors.put(
                    name, torch.full(new long[] {20}, new Scalar(value), new TensorOptions(torch.ScalarType.Float)));
        }
        SafetensorsFolder.write(model, tensors, Map.of(), fileBytes);
    }

    /** The process that dies. */
    static final class ModelSaver {
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            PowerFailure failure = new PowerFailure(Long.parseLong(args[2]));
            save(FaultyFileSystem.path(Path.of(args[0]), failure), Integer.parseInt(args[1]), NEW);
        }
    }
}

package io.jrun.train.checkpoint;

import io.jrun.train.Libtorch;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.tensor.ModuleTensors;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;

/**
 * Checkpoints of one run, each a folder {@code step-00000100} with {@code model.safetensors} and
 * {@code optimizer.safetensors}. A folder gets its name when all its files are on disk. A run that is killed while
 * saving therefore leaves its earlier checkpoints unchanged, also the checkpoint of the same step. Saving keeps the
 * newest two checkpoints up to the saved step. A checkpoint of a later step belongs to another run and is never
 * removed.
 *
 * <p>One rank saves, because the ranks of a DDP model hold equal states. All ranks load.
 */
public final class CheckpointDirectory {
    private static final int KEPT = 2;
    private static final Pattern COMPLETE = Pattern.compile("\\.?step-(\\d{8,18})(\\.replaced)?");
    private static final Pattern UNFINISHED =
            Pattern.compile("\\.step-\\d{8,18}\\.[0-9a-f-]+" + Pattern.quote(AtomicFile.TEMPORARY));
    private static final String REPLACED = ".replaced";
    private static final String MODEL_FILE = "model.safetensors";
    private static final String OPTIMIZER_FILE = "optimizer.safetensors";

    private final Path folder;
    private final Runnable replacing;

    /**
     * For tests that stop a save while a checkpoint is replaced.
     *
     * @param replacing runs when the earlier checkpoint of a step is renamed and the new checkpoint has no name yet
     */
    CheckpointDirectory(Path folder, Runnable replacing) {
        this.folder = folder;
        this.replacing = replacing;
    }

    /** The checkpoints in {@code folder}. The folder need not exist yet. */
    public static CheckpointDirectory of(Path folder) {
        return new CheckpointDirectory(folder, () -> {});
    }

    /**
     * Saves the state after {@code step} steps. Removes all earlier checkpoints except the newest.
     *
     * @param metadata texts of the program, such as its configuration; {@link #load} returns the texts
     * @return the new checkpoint's folder
     * @throws CheckpointException if the checkpoint cannot be written; the folder is then unchanged
     */
    public Path save(long step, Module module, Optimizer optimizer, Map<String, String> metadata) {
        Libtorch.load();
        return save(step, module, OptimizerState.of(optimizer, ModuleTensors.parameters(module)), metadata);
    }

    /**
     * Like {@link #save(long, Module, Optimizer, Map)}.
     *
     * @param optimizerState copies by name; the method frees the copies
     */
    public Path save(long step, Module module, Map<String, Tensor> optimizerState, Map<String, String> metadata) {
        Libtorch.load();
        Path target = path(step);
        Path temporary = AtomicFile.temporary(target);
        try {
            recover();
            Files.createDirectories(temporary);
            Map<String, String> described = new HashMap<>(metadata);
            described.put("format", "pt");
            Safetensors.write(temporary.resolve(MODEL_FILE), ModelState.of(module), described);
            Safetensors.write(temporary.resolve(OPTIMIZER_FILE), optimizerState, Map.of());
            publish(temporary, target);
            prune(step);
        } catch (IOException e) {
            throw new CheckpointException("cannot save " + target + ": " + e, e);
        } finally {
            optimizerState.values().forEach(Tensor::close);
            delete(temporary);
        }
        return target;
    }

    /** The step of the newest complete checkpoint; empty if there is none. */
    public OptionalLong latest() {
        return steps().stream().mapToLong(Long::longValue).max();
    }

    /**
     * Copies the values of a checkpoint into the module and the optimizer.
     *
     * @return the metadata of the checkpoint
     * @throws CheckpointException if the checkpoint does not exist, is damaged, or is of another model
     */
    public Map<String, String> load(long step, Module module, Optimizer optimizer) {
        return load(step, module, state -> OptimizerState.load(optimizer, ModuleTensors.parameters(module), state));
    }

    /**
     * Like {@link #load(long, Module, Optimizer)}.
     *
     * @param optimizer takes the saved state; the method frees the tensors afterwards
     */
    public Map<String, String> load(long step, Module module, Consumer<Map<String, Tensor>> optimizer) {
        Path source = find(step);
        if (!Files.isDirectory(source)) {
            throw new CheckpointException("there is no checkpoint " + source + ". Every node must see the checkpoint;"
                    + " steps found in " + folder + ": " + steps());
        }
        Safetensors.Content model = Safetensors.read(source.resolve(MODEL_FILE));
        Safetensors.Content state = Safetensors.read(source.resolve(OPTIMIZER_FILE));
        ModelState.load(module, model.tensors());
        optimizer.accept(state.tensors());
        model.tensors().values().forEach(Tensor::close);
        state.tensors().values().forEach(Tensor::close);
        return model.metadata();
    }

    /** The metadata of a checkpoint, without reading its tensors. */
    public Map<String, String> metadata(long step) {
        return Safetensors.readMetadata(find(step).resolve(MODEL_FILE));
    }

    /** The folder. */
    @Override
    public String toString() {
        return folder.toString();
    }

    private Path path(long step) {
        return folder.resolve(String.format(Locale.ROOT, "step-%08d", step));
    }

    private static Path setAside(Path checkpoint) {
        return checkpoint.resolveSibling("." + checkpoint.getFileName() + REPLACED);
    }

    /**
     * The folder of a checkpoint: its own name, or the name that a killed save gave the checkpoint before replacing it.
     */
    private Path find(long step) {
        Path named = path(step);
        Path aside = setAside(named);
        return !Files.isDirectory(named) && Files.isDirectory(aside) ? aside : named;
    }

    private NavigableSet<Long> steps() {
        NavigableSet<Long> steps = new TreeSet<>();
        for (String name : names()) {
            Matcher complete = COMPLETE.matcher(name);
            if (complete.matches()) {
                steps.add(Long.parseLong(complete.group(1)));
            }
        }
        return steps;
    }

    private List<String> names() {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> String.valueOf(entry.getFileName())).toList();
        } catch (IOException | UncheckedIOException e) {
            throw new CheckpointException("cannot list " + folder + ": " + e, e);
        }
    }

    private void publish(Path temporary, Path target) throws IOException {
        AtomicFile.syncFolder(temporary);
        Path replaced = setAside(target);
        if (Files.exists(target)) {
            Files.move(target, replaced, StandardCopyOption.ATOMIC_MOVE);
            replacing.run();
        }
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        AtomicFile.syncFolder(folder);
        delete(replaced);
    }

    /** Repairs the folder after a killed save. One rank saves, so no other save runs now. */
    private void recover() throws IOException {
        for (String name : names()) {
            if (UNFINISHED.matcher(name).matches()) {
                delete(folder.resolve(name));
            } else if (name.endsWith(REPLACED)) {
                Path target = folder.resolve(name.substring(1, name.length() - REPLACED.length()));
                if (Files.exists(target)) {
                    delete(folder.resolve(name));
                } else {
                    Files.move(folder.resolve(name), target, StandardCopyOption.ATOMIC_MOVE);
                }
            }
        }
    }

    private void prune(long saved) {
        steps().headSet(saved, true).descendingSet().stream().skip(KEPT).forEach(step -> delete(path(step)));
    }

    /** Deletes as much as possible. Files that remain disturb no later save or load. */
    private static void delete(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> tree = Files.walk(folder)) {
            tree.sorted(Comparator.reverseOrder()).forEach(path -> {
                boolean _ = path.toFile().delete();
            });
        } catch (IOException e) {
            throw new CheckpointException("cannot delete " + folder + ": " + e, e);
        }
    }
}

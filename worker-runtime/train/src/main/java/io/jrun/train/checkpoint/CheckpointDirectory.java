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
 * {@code optimizer.safetensors}. A folder appears under that name only when all of it is on disk, so a run that is
 * killed while saving leaves its earlier checkpoints as they were, also the one of the same step. The newest two are kept; those of later steps than the
 * one just saved are of another run and are never removed.
 *
 * <p>Saving is one rank's task (ranks of a DDP model hold equal states); loading is everybody's.
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
     * For tests, which stop a saver in the middle of replacing a checkpoint.
     *
     * @param replacing runs when the earlier checkpoint of a step is set aside and the new one has no name yet
     */
    CheckpointDirectory(Path folder, Runnable replacing) {
        this.folder = folder;
        this.replacing = replacing;
    }

    /** The checkpoints in {@code folder}, which need not exist yet. */
    public static CheckpointDirectory of(Path folder) {
        return new CheckpointDirectory(folder, () -> {});
    }

    /**
     * Saves the state after {@code step} steps and removes earlier checkpoints but one.
     *
     * @param metadata the program's own, such as its configuration; returned by {@link #load}
     * @return the new checkpoint's folder
     * @throws CheckpointException if it cannot be written; nothing is changed then
     */
    public Path save(long step, Module module, Optimizer optimizer, Map<String, String> metadata) {
        Libtorch.load();
        return save(step, module, OptimizerState.of(optimizer, ModuleTensors.parameters(module)), metadata);
    }

    /**
     * As {@link #save(long, Module, Optimizer, Map)}.
     *
     * @param optimizerState copies by name; they are freed
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

    /** The newest complete checkpoint's step; empty if there is none. */
    public OptionalLong latest() {
        return steps().stream().mapToLong(Long::longValue).max();
    }

    /**
     * Puts a checkpoint's values into the module and the optimizer.
     *
     * @return the metadata it was saved with
     * @throws CheckpointException if it does not exist, is damaged, or is of another model
     */
    public Map<String, String> load(long step, Module module, Optimizer optimizer) {
        return load(step, module, state -> OptimizerState.load(optimizer, ModuleTensors.parameters(module), state));
    }

    /**
     * As {@link #load(long, Module, Optimizer)}.
     *
     * @param optimizer takes the state that was saved; the tensors are freed afterwards
     */
    public Map<String, String> load(long step, Module module, Consumer<Map<String, Tensor>> optimizer) {
        Path source = find(step);
        if (!Files.isDirectory(source)) {
            throw new CheckpointException("there is no checkpoint " + source + ". It has to be visible on every node;"
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

    /** Where a checkpoint is: under its name, or set aside by a saver that was killed before it had replaced it. */
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

    /** Tidies up after a saver that was killed; only one rank saves, so none is at work now. */
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

    /** Best effort: what cannot be deleted is in nobody's way. */
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

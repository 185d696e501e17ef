package io.jrun.train.weights;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.json.OneLine;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * Loads pre-trained weights into the parameters and buffers of a module. The loader writes tensors into the memory of
 * the module, one after the other in the order of the file. A reading rank reads a tensor while its group still
 * transfers the earlier tensors. The loader converts element types of the file to the types of the module.
 */
public final class WeightLoader {
    /** The number of concurrent transfers: more transfers would not be faster. */
    private static final int IN_FLIGHT = 4;

    private WeightLoader() {}

    /**
     * Loads in a single process. Prints a line to standard error for the tensors of the files that the module does not
     * use, and each of the module's {@link PretrainedModule#notes()}.
     *
     * @return bytes read from the files
     * @throws CheckpointException if a tensor is missing or a file is malformed; the message is one line with the name.
     *     The module may be changed only if a file cannot be read to its end
     */
    public static long load(Module module, Path path, NameMapping mapping) {
        return loadAlone(module, path, mapping, true);
    }

    /**
     * Loads on all ranks of a world. All ranks call this method with the same arguments. Rank 0 prints the lines of
     * {@link #load(Module, Path, NameMapping)}.
     *
     * @param readers the ranks that read {@code path}; the other ranks need not see the files
     * @return bytes that this rank has read from the files
     * @throws CheckpointException on all ranks, with the same line, if the files of a reading rank are unusable
     */
    public static long load(Module module, Path path, NameMapping mapping, World world, WeightReaders readers) {
        return switch (readers) {
            case EVERY_RANK -> loadAlone(module, path, mapping, world.rank() == 0);
            case RANK_0 -> distribute(module, path, mapping, world.group(), world.rank() == 0);
            case ONE_PER_NODE -> {
                try (ProcessGroup node = world.group().split(world.nodeRank(), world.rank())) {
                    yield distribute(module, path, mapping, node, world.rank() == 0);
                }
            }
        };
    }

    /**
     * Unties the tensors of a module that the files have twice, as {@link #load} does, and reads no tensor. Does nothing
     * if this process does not see the files.
     *
     * @return the names that were untied, for {@link PretrainedModule#untie} of further modules
     * @throws CheckpointException as {@link #load}
     */
    public static List<String> untie(Module module, Path path, NameMapping mapping) {
        if (module instanceof PretrainedModule pretrained && Files.exists(path)) {
            try (WeightFiles files = WeightFiles.open(path)) {
                WeightMatch match = WeightMatch.of(
                        files, ModuleTensors.all(module), pretrained.tiedNames(), mapping, path.toString());
                untie(module, match.untied(), path);
                return match.untied();
            }
        }
        return List.of();
    }

    private static long loadAlone(Module module, Path path, NameMapping mapping, boolean isPrinting) {
        try (WeightFiles files = WeightFiles.open(path)) {
            WeightMatch match = match(files, module, mapping, path, isPrinting);
            Map<String, Tensor> own = ModuleTensors.all(module);
            match.fileNames()
                    .forEach((name, fileName) ->
                            files.fileOf(fileName).read(fileName, Objects.requireNonNull(own.get(name))));
            return files.bytesRead();
        }
    }

    private static long distribute(
            Module module, Path path, NameMapping mapping, ProcessGroup group, boolean isPrinting) {
        if (group.groupRank() != 0) {
            WeightPlan plan = group.objects().broadcast(null, 0, WeightPlan.CODEC);
            plan.requirePossible();
            untie(module, plan.untied(), path);
            transfer(group, plan.names(), ModuleTensors.all(module), _ -> {});
            return 0;
        }
        WeightFiles files;
        WeightMatch match;
        try {
            files = WeightFiles.open(path);
            match = matchOrClose(files, module, mapping, path, isPrinting);
        } catch (CheckpointException e) {
            WeightPlan _ = group.objects().broadcast(WeightPlan.failed(e), 0, WeightPlan.CODEC);
            throw e;
        }
        try (files) {
            Map<String, String> fileNames = match.fileNames();
            Map<String, Tensor> own = ModuleTensors.all(module);
            List<String> names = new ArrayList<>(fileNames.keySet());
            WeightPlan _ = group.objects()
                    .broadcast(new WeightPlan(Optional.empty(), match.untied(), names), 0, WeightPlan.CODEC);
            transfer(group, names, own, name -> {
                String fileName = Objects.requireNonNull(fileNames.get(name));
                files.fileOf(fileName).read(fileName, Objects.requireNonNull(own.get(name)));
            });
            return files.bytesRead();
        } catch (CheckpointException e) {
            group.abort(String.valueOf(e.getMessage()));
            throw e;
        }
    }

    private static WeightMatch matchOrClose(
            WeightFiles files, Module module, NameMapping mapping, Path path, boolean isPrinting) {
        try {
            return match(files, module, mapping, path, isPrinting);
        } catch (CheckpointException e) {
            files.close();
            throw e;
        }
    }

    /** Matches the names, unties what the files have twice, and prints the notes. */
    private static WeightMatch match(
            WeightFiles files, Module module, NameMapping mapping, Path path, boolean isPrinting) {
        Map<String, String> tied = module instanceof PretrainedModule pretrained ? pretrained.tiedNames() : Map.of();
        WeightMatch match = WeightMatch.of(files, ModuleTensors.all(module), tied, mapping, path.toString());
        untie(module, match.untied(), path);
        if (isPrinting) {
            List<String> notes =
                    new ArrayList<>(module instanceof PretrainedModule pretrained ? pretrained.notes() : List.of());
            match.note(path.toString()).ifPresent(notes::add);
            notes.forEach(note -> System.err.println("jrun: note: " + OneLine.of(note)));
        }
        return match;
    }

    private static void untie(Module module, List<String> names, Path path) {
        try {
            if (module instanceof PretrainedModule pretrained) {
                names.forEach(pretrained::untie);
            }
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(path + ": " + e.getMessage(), e);
        }
    }

    /** Fills a tensor of the module before the send. */
    @FunctionalInterface
    private interface Filler {
        void fill(String name);
    }

    private static void transfer(ProcessGroup group, List<String> names, Map<String, Tensor> own, Filler filler) {
        TensorCollectives collectives = new TensorCollectives(group);
        Deque<Work> inFlight = new ArrayDeque<>();
        for (String name : names) {
            filler.fill(name);
            Tensor tensor = own.get(name);
            if (tensor == null) {
                throw new CheckpointException("the reading rank sent tensor '" + name
                        + "', which this rank's model lacks. Build the same model on all ranks.");
            }
            inFlight.add(collectives.broadcastAsync(tensor, 0));
            if (inFlight.size() >= IN_FLIGHT) {
                inFlight.remove().await();
            }
        }
        inFlight.forEach(Work::await);
    }
}

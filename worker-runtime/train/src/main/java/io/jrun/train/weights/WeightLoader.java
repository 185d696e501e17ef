package io.jrun.train.weights;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
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
     * Loads in a single process.
     *
     * @return bytes read from the files
     * @throws CheckpointException if a tensor is missing or a file is malformed; the message is one line with the name.
     *     The module may be changed only if a file cannot be read to its end
     */
    public static long load(Module module, Path path, NameMapping mapping) {
        Map<String, Tensor> own = ModuleTensors.all(module);
        try (WeightFiles files = WeightFiles.open(path)) {
            WeightPlan.match(files, own, mapping, path.toString())
                    .forEach((name, fileName) ->
                            files.fileOf(fileName).read(fileName, Objects.requireNonNull(own.get(name))));
            return files.bytesRead();
        }
    }

    /**
     * Loads on all ranks of a world. All ranks call this method with the same arguments.
     *
     * @param readers the ranks that read {@code path}; the other ranks need not see the files
     * @return bytes that this rank has read from the files
     * @throws CheckpointException on all ranks, with the same line, if the files of a reading rank are unusable
     */
    public static long load(Module module, Path path, NameMapping mapping, World world, WeightReaders readers) {
        return switch (readers) {
            case EVERY_RANK -> load(module, path, mapping);
            case RANK_0 -> distribute(module, path, mapping, world.group());
            case ONE_PER_NODE -> {
                try (ProcessGroup node = world.group().split(world.nodeRank(), world.rank())) {
                    yield distribute(module, path, mapping, node);
                }
            }
        };
    }

    private static long distribute(Module module, Path path, NameMapping mapping, ProcessGroup group) {
        Map<String, Tensor> own = ModuleTensors.all(module);
        if (group.groupRank() != 0) {
            WeightPlan plan = group.objects().broadcast(null, 0, WeightPlan.CODEC);
            plan.requirePossible();
            transfer(group, plan.names(), own, _ -> {});
            return 0;
        }
        WeightFiles files;
        Map<String, String> fileNames;
        try {
            files = WeightFiles.open(path);
            fileNames = match(files, own, mapping, path);
        } catch (CheckpointException e) {
            WeightPlan _ = group.objects().broadcast(WeightPlan.failed(e), 0, WeightPlan.CODEC);
            throw e;
        }
        try (files) {
            List<String> names = new ArrayList<>(fileNames.keySet());
            WeightPlan _ = group.objects().broadcast(new WeightPlan(Optional.empty(), names), 0, WeightPlan.CODEC);
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

    private static Map<String, String> match(
            WeightFiles files, Map<String, Tensor> own, NameMapping mapping, Path path) {
        try {
            return new LinkedHashMap<>(WeightPlan.match(files, own, mapping, path.toString()));
        } catch (CheckpointException e) {
            files.close();
            throw e;
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

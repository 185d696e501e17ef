package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of which each rank of some axes holds a part, and optimizer states with the same parts. A checkpoint
 * has the whole tensors, so any number of ranks can load the checkpoint. No rank holds a whole tensor, except for
 * tensors of several sections. Their parts are not boxes, so the ranks of the axes gather such a tensor before a save.
 *
 * @param parameters this rank's parts by the names of the parameters
 * @param axes the axes of the parts, in the order in which the tensors are divided
 */
public record ShardedState(Map<String, ShardedTensor> parameters, List<MeshAxis> axes) {
    public ShardedState {
        parameters = new LinkedHashMap<>(parameters);
        axes = List.copyOf(axes);
    }

    /** Parts along one axis. */
    public ShardedState(Map<String, ShardedTensor> parameters, MeshAxis axis) {
        this(parameters, List.of(axis));
    }

    /** Adds the parameters, with names that begin with {@code prefix}. */
    public void putParameters(StateDict into, String prefix) {
        parameters.forEach((name, parameter) -> into.put(entry(prefix, name, parameter, parameter.local())));
    }

    /**
     * Adds the states of an optimizer.
     *
     * @param state tensors by names such as {@code PARAMETER.exp_avg}: numbers, or of the shape of the parameter's part
     */
    public void putOptimizer(StateDict into, String prefix, Map<String, Tensor> state) {
        // All ranks gather in one order. The order of the states of a libtorch optimizer differs between ranks.
        Map<String, Tensor> all = new TreeMap<>(state);
        all.putAll(emptyParts(state));
        all.forEach((name, tensor) -> into.put(
                tensor.dim() == 0
                        ? StateEntry.full(prefix + name, tensor)
                        : entry(prefix, name, parameter(name), tensor)));
    }

    /** The states of parameters of several sections of which this rank has no element: the rank gathers them too. */
    private Map<String, Tensor> emptyParts(Map<String, Tensor> state) {
        Map<String, Tensor> empty = new LinkedHashMap<>();
        state.forEach((name, tensor) -> {
            if (tensor.dim() > 0) {
                String kind = name.substring(name.lastIndexOf('.') + 1);
                parameters.forEach((parameter, part) -> {
                    if (part.local().numel() == 0 && isInSections(part)) {
                        empty.put(parameter + "." + kind, part.local());
                    }
                });
            }
        });
        return empty;
    }

    private StateEntry entry(String prefix, String name, @Nullable ShardedTensor parameter, Tensor local) {
        if (parameter == null) {
            throw new CheckpointException("optimizer state '" + name + "' belongs to no parameter of this model");
        }
        if (isInSections(parameter)) {
            return StateEntry.full(prefix + name, like(parameter, local).whole(order()));
        }
        return new StateEntry(
                prefix + name,
                parameter.globalShape(),
                Arrays.stream(parameter.offsets(order())).boxed().toList(),
                local);
    }

    private boolean isInSections(ShardedTensor parameter) {
        return axes.stream()
                .anyMatch(axis -> axis.size() > 1
                        && parameter.placement(axis.name()) instanceof Shard(int _, int sections)
                        && sections > 1);
    }

    private MeshAxis[] order() {
        return axes.toArray(MeshAxis[]::new);
    }

    private static ShardedTensor like(ShardedTensor parameter, Tensor local) {
        return new ShardedTensor(parameter.name(), parameter.globalShape(), parameter.placements(), local);
    }

    /** The names of states have one dot more than the names of parameters. */
    private @Nullable ShardedTensor parameter(String stateName) {
        return parameters.get(stateName.substring(0, Math.max(0, stateName.lastIndexOf('.'))));
    }

    /** Reads this rank's parts of the parameters into their memory. */
    public void loadParameters(SavedCheckpoint saved, String prefix) {
        StateDict wanted = new StateDict();
        Map<ShardedTensor, Tensor> inSections = new LinkedHashMap<>();
        parameters.forEach((name, parameter) -> {
            if (isInSections(parameter)) {
                Tensor whole = wholeMemory(parameter);
                inSections.put(parameter, whole);
                wanted.put(prefix + name, whole);
            } else {
                wanted.put(entry(prefix, name, parameter, parameter.local()));
            }
        });
        saved.load(wanted);
        takeParts(inSections);
    }

    private static Tensor wholeMemory(ShardedTensor parameter) {
        long[] shape =
                parameter.globalShape().stream().mapToLong(Long::longValue).toArray();
        return TensorMemory.own(torch.empty(shape, parameter.local().options(), new MemoryFormatOptional()));
    }

    /** Copies this rank's parts of whole tensors, and frees the whole tensors. */
    private void takeParts(Map<ShardedTensor, Tensor> whole) {
        whole.forEach((parameter, tensor) -> {
            parameter.takePart(tensor, order());
            tensor.close();
        });
    }

    /**
     * Reads this rank's parts of the states of an optimizer, by name without the prefix. Parameters of which this rank
     * holds no element, and those of other pipeline stages, are left out. The caller frees the tensors.
     */
    public Map<String, Tensor> readOptimizer(SavedCheckpoint saved, String prefix) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Map<ShardedTensor, Tensor> inSections = new LinkedHashMap<>();
        StateDict wanted = new StateDict();
        saved.tensors().forEach((full, tensor) -> {
            if (!full.startsWith(prefix)) {
                return;
            }
            String name = full.substring(prefix.length());
            ShardedTensor parameter = parameter(name);
            boolean isElsewhere = parameter == null && name.contains(".");
            boolean isEmpty = parameter != null && parameter.local().numel() == 0;
            if (isElsewhere || isEmpty) {
                return;
            }
            boolean isNumber = tensor.globalShape().isEmpty();
            Tensor local =
                    empty(tensor, isNumber || parameter == null ? new long[0] : TensorMemory.sizes(parameter.local()));
            state.put(name, local);
            if (!isNumber && parameter != null && isInSections(parameter)) {
                ShardedTensor part = like(parameter, local);
                Tensor whole = wholeMemory(part);
                inSections.put(part, whole);
                wanted.put(full, whole);
            } else {
                wanted.put(isNumber ? StateEntry.full(full, local) : entry(prefix, name, parameter, local));
            }
        });
        saved.load(wanted);
        takeParts(inSections);
        return state;
    }

    private static Tensor empty(TensorMetadata saved, long[] shape) {
        try (TensorOptions options = new TensorOptions(saved.type().torch())) {
            return TensorMemory.own(torch.empty(shape, options, new MemoryFormatOptional()));
        }
    }
}

package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of which each rank of an axis holds a part, and optimizer states with the same parts. A checkpoint has
 * the whole tensors, so it can be loaded on any number of ranks. No rank holds a whole tensor. The exception are tensors
 * of several sections: their parts are not boxes, so the ranks of the axis gather the tensor before a save.
 *
 * @param parameters this rank's parts by the names of the parameters
 * @param axis the axis of the parts
 */
public record ShardedState(Map<String, ShardedTensor> parameters, MeshAxis axis) {
    public ShardedState {
        parameters = new LinkedHashMap<>(parameters);
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
        new TreeMap<>(state)
                .forEach((name, tensor) -> into.put(
                        tensor.dim() == 0
                                ? StateEntry.full(prefix + name, tensor)
                                : entry(prefix, name, parameter(name), tensor)));
    }

    private StateEntry entry(String prefix, String name, @Nullable ShardedTensor parameter, Tensor local) {
        if (parameter == null) {
            throw new CheckpointException("optimizer state '" + name + "' belongs to no parameter of this model");
        }
        if (isInSections(parameter)) {
            return StateEntry.full(prefix + name, like(parameter, local).whole(axis));
        }
        return new StateEntry(
                prefix + name,
                parameter.globalShape(),
                Arrays.stream(parameter.offsets(axis)).boxed().toList(),
                local);
    }

    private boolean isInSections(ShardedTensor parameter) {
        return axis.size() > 1
                && parameter.placement(axis.name()) instanceof Shard(int _, int sections)
                && sections > 1;
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

    /** Copies this rank's parts of whole tensors, and frees those. */
    private void takeParts(Map<ShardedTensor, Tensor> whole) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            whole.forEach((parameter, tensor) -> {
                ShardedTensor part =
                        ShardedTensor.distribute(parameter.name(), tensor, parameter.placement(axis.name()), axis);
                parameter.local().detach().copy_(part.local());
                part.local().close();
                tensor.close();
            });
        }
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

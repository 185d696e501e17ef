package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of which each rank of an axis holds a part, and optimizer states with the same parts. A checkpoint has
 * the whole tensors, so it can be loaded on any number of ranks. No rank holds a whole tensor.
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
        parameters.values().forEach(parameter -> into.put(prefix, parameter, axis));
    }

    /**
     * Adds the states of an optimizer.
     *
     * @param state tensors by names such as {@code PARAMETER.exp_avg}: numbers, or of the shape of the parameter's part
     */
    public void putOptimizer(StateDict into, String prefix, Map<String, Tensor> state) {
        state.forEach((name, tensor) -> into.put(
                tensor.dim() == 0
                        ? StateEntry.full(prefix + name, tensor)
                        : entry(prefix, name, parameter(name), tensor)));
    }

    private StateEntry entry(String prefix, String name, @Nullable ShardedTensor parameter, Tensor local) {
        if (parameter == null) {
            throw new CheckpointException("optimizer state '" + name + "' belongs to no parameter of this model");
        }
        return new StateEntry(
                prefix + name,
                parameter.globalShape(),
                Arrays.stream(parameter.offsets(axis)).boxed().toList(),
                local);
    }

    /** The names of states have one dot more than the names of parameters. */
    private @Nullable ShardedTensor parameter(String stateName) {
        return parameters.get(stateName.substring(0, stateName.lastIndexOf('.')));
    }

    /** Reads this rank's parts of the parameters into their memory. */
    public void loadParameters(SavedCheckpoint saved, String prefix) {
        StateDict wanted = new StateDict();
        putParameters(wanted, prefix);
        saved.load(wanted);
    }

    /**
     * Reads this rank's parts of the states of an optimizer, by name without the prefix. Parameters of which this rank
     * holds no element are left out. The caller frees the tensors.
     */
    public Map<String, Tensor> readOptimizer(SavedCheckpoint saved, String prefix) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        StateDict wanted = new StateDict();
        saved.tensors().forEach((full, tensor) -> {
            if (!full.startsWith(prefix)) {
                return;
            }
            String name = full.substring(prefix.length());
            ShardedTensor parameter = parameter(name);
            if (parameter != null && parameter.local().numel() == 0) {
                return;
            }
            boolean isNumber = tensor.globalShape().isEmpty();
            Tensor local =
                    empty(tensor, isNumber || parameter == null ? new long[0] : TensorMemory.sizes(parameter.local()));
            state.put(name, local);
            wanted.put(isNumber ? StateEntry.full(full, local) : entry(prefix, name, parameter, local));
        });
        saved.load(wanted);
        return state;
    }

    private static Tensor empty(TensorMetadata saved, long[] shape) {
        try (TensorOptions options = new TensorOptions(saved.type().torch())) {
            return TensorMemory.own(torch.empty(shape, options, new MemoryFormatOptional()));
        }
    }
}

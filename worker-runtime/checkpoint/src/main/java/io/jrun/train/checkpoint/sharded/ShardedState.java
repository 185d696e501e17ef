package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.mesh.TensorBox;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a model, and optimizer states with the same parts. A checkpoint
 * has the whole tensors, so any number of ranks can load the checkpoint. No rank holds a whole tensor, and the methods
 * send nothing.
 *
 * @param parameters by their names
 */
public record ShardedState(Map<String, ShardedTensor> parameters) {
    public ShardedState {
        parameters = new LinkedHashMap<>(parameters);
    }

    /** Adds the parameters, with names that begin with {@code prefix}. */
    public void putParameters(StateDict into, String prefix) {
        parameters.forEach((name, parameter) -> into.putPart(prefix + name, parameter));
    }

    /**
     * Adds the states of an optimizer.
     *
     * @param state tensors by names such as {@code PARAMETER.exp_avg}: numbers, or of the shape of the parameter's part
     */
    public void putOptimizer(StateDict into, String prefix, Map<String, Tensor> state) {
        state.forEach((name, tensor) -> put(into, prefix, name, tensor));
    }

    private void put(StateDict into, String prefix, String name, Tensor local) {
        if (local.dim() == 0) {
            into.put(prefix + name, local);
            return;
        }
        ShardedTensor parameter = parameter(name);
        if (parameter == null) {
            throw new CheckpointException("optimizer state '" + name + "' belongs to no parameter of this model");
        }
        into.putPart(prefix + name, parameter.withLocal(local));
    }

    /**
     * Adds some elements of a tensor that has the shape of a parameter, such as a state of an optimizer.
     *
     * @param name of the tensor in the checkpoint
     * @param piece a box of this rank's part
     * @throws IllegalArgumentException if this state has no such parameter
     */
    public void putPiece(StateDict into, String name, String parameter, TensorBox piece) {
        ShardedTensor part = parameters.get(parameter);
        if (part == null) {
            throw new IllegalArgumentException("this rank holds no parameter '" + parameter + "'");
        }
        for (TensorBox box : part.boxes(piece)) {
            into.put(new StateEntry(name, part.globalShape(), box.offsets(), box.local()));
        }
    }

    /** The names of states have one dot more than the names of parameters. */
    private @Nullable ShardedTensor parameter(String stateName) {
        return parameters.get(stateName.substring(0, Math.max(0, stateName.lastIndexOf('.'))));
    }

    /** Reads this rank's parts of the parameters into their memory. */
    public void loadParameters(SavedCheckpoint saved, String prefix) {
        StateDict wanted = new StateDict();
        putParameters(wanted, prefix);
        saved.load(wanted);
    }

    /**
     * Reads this rank's parts of the states of an optimizer, by name without the prefix. Parameters of which this rank
     * holds no element, and those of other pipeline stages, are left out. The caller frees the tensors.
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
            boolean isElsewhere = parameter == null && name.contains(".");
            boolean isEmpty = parameter != null && !parameter.isHere();
            if (isElsewhere || isEmpty) {
                return;
            }
            boolean isNumber = tensor.globalShape().isEmpty();
            Tensor local =
                    empty(tensor, isNumber || parameter == null ? new long[0] : TensorMemory.sizes(parameter.local()));
            state.put(name, local);
            put(wanted, prefix, name, local);
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

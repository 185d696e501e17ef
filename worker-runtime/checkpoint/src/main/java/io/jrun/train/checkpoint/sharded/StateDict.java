package io.jrun.train.checkpoint.sharded;

import io.jrun.train.mesh.AxisPlacement;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.Partial;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.mesh.TensorBox;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * One rank's view of a training state: tensors by name, and texts by key. A tensor that several ranks hold with the
 * same offsets and shape is replicated: the ranks hold equal values, and one of them writes. The parts of all ranks
 * together cover each tensor exactly once. The texts of rank 0 are saved. The dictionary refers to the tensors and does
 * not copy or free them. Source of the model: torch's sharded state dict ({@code torch.distributed.checkpoint}). Not
 * thread-safe.
 */
public final class StateDict {
    private final Map<String, StateEntry> entries = new LinkedHashMap<>();
    private final Map<String, String> texts = new LinkedHashMap<>();

    /**
     * Adds a part of a tensor.
     *
     * @throws IllegalArgumentException if the dictionary has an entry of this name and these offsets
     */
    public StateDict put(StateEntry entry) {
        if (entries.putIfAbsent(entry.key(), entry) != null) {
            throw new IllegalArgumentException("the state has two tensors of the name '" + entry.name() + "'");
        }
        return this;
    }

    /**
     * Adds a tensor that this rank holds in full. Ranks that add the same name hold equal values.
     *
     * @throws IllegalArgumentException if the tensor is a part of a parameter, see {@link ShardedTensor#of}
     */
    public StateDict put(String name, Tensor tensor) {
        ShardedTensor.of(name, tensor).divided().stream().findFirst().ifPresent(axis -> {
            throw new IllegalArgumentException("tensor '" + name + "' is part " + axis.coordinate() + " of "
                    + axis.size() + " along the axis '" + axis.name()
                    + "', so it cannot be saved as a whole tensor. Use ShardedState, or put a ShardedTensor.");
        });
        return put(StateEntry.full(name, tensor));
    }

    /** Adds tensors that this rank holds in full, with names that begin with {@code prefix}, such as {@code model.}. */
    public StateDict putAll(String prefix, Map<String, Tensor> tensors) {
        tensors.forEach((name, tensor) -> put(prefix + name, tensor));
        return this;
    }

    /**
     * Adds this rank's part of a tensor of a mesh.
     *
     * @param prefix put before the tensor's own name
     * @throws IllegalArgumentException if the tensor is partial along an axis: its value is not known before it is
     *     reduced
     */
    public StateDict put(String prefix, ShardedTensor tensor) {
        return putPart(prefix + tensor.name(), tensor);
    }

    /** Adds this rank's part of a tensor under a name. */
    StateDict putPart(String name, ShardedTensor tensor) {
        Parameters.requireCurrent(List.of(tensor));
        for (AxisPlacement each : tensor.placements()) {
            if (each.placement() instanceof Partial) {
                throw new IllegalArgumentException("tensor '" + tensor.name() + "' is partial on the axis "
                        + each.axis().name() + ". Reduce it before it is saved.");
            }
        }
        for (TensorBox box : tensor.boxes()) {
            put(new StateEntry(name, tensor.globalShape(), box.offsets(), box.local()));
        }
        return this;
    }

    /** Adds a text, such as the configuration or a counter. The text of rank 0 is saved. */
    public StateDict putText(String key, String text) {
        texts.put(key, text);
        return this;
    }

    /** The entries in the order in which they were added. */
    public Collection<StateEntry> entries() {
        return Collections.unmodifiableCollection(entries.values());
    }

    /** The texts by key. */
    public Map<String, String> texts() {
        return Collections.unmodifiableMap(texts);
    }
}

package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.HostTensor;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * A copy of a state in host memory, pinned for tensors of a GPU. The memory is used again by the next copy of tensors
 * with the same names, types and shapes: fresh memory would cost a page fault for each page. Confined to one thread at
 * a time.
 */
final class StateSnapshot implements AutoCloseable {
    private final Map<String, HostTensor> memory = new LinkedHashMap<>();

    /** Copies a state. The copy is valid until the next call. */
    StateDict copy(StateDict state) {
        StateDict copy = new StateDict();
        state.texts().forEach(copy::putText);
        Set<String> keys = state.entries().stream().map(StateEntry::key).collect(Collectors.toSet());
        memory.entrySet().removeIf(kept -> {
            boolean isGone = !keys.contains(kept.getKey());
            if (isGone) {
                kept.getValue().close();
            }
            return isGone;
        });
        List<Tensor> from = new ArrayList<>();
        List<Tensor> to = new ArrayList<>();
        for (StateEntry entry : state.entries()) {
            from.add(entry.local());
            to.add(memoryOf(entry));
            copy.put(new StateEntry(entry.name(), entry.globalShape(), entry.offsets(), to.getLast()));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            DeviceWaits.copyToHost(from, to);
        }
        return copy;
    }

    private Tensor memoryOf(StateEntry entry) {
        Tensor from = entry.local();
        HostTensor kept = memory.get(entry.key());
        if (kept == null || !TensorMemory.form(kept.tensor()).equals(TensorMemory.form(from))) {
            if (kept != null) {
                memory.remove(entry.key());
                kept.close();
            }
            kept = new HostTensor(TensorMemory.device(from), from.scalar_type().intern(), TensorMemory.sizes(from));
            memory.put(entry.key(), kept);
        }
        return kept.tensor();
    }

    @Override
    public void close() {
        memory.values().forEach(HostTensor::close);
        memory.clear();
    }
}

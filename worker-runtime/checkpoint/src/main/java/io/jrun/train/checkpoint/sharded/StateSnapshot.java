package io.jrun.train.checkpoint.sharded;

import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * A copy of a state in host memory. The memory is used again by the next copy of tensors with the same names, types and
 * shapes: fresh memory would cost a page fault for each page. Confined to one thread at a time.
 */
final class StateSnapshot implements AutoCloseable {
    private final Map<String, Tensor> memory = new LinkedHashMap<>();

    /** Copies a state. The copy is valid until the next call. */
    StateDict copy(StateDict state) {
        StateDict copy = new StateDict();
        state.texts().forEach(copy::putText);
        memory.entrySet().removeIf(kept -> {
            boolean isGone =
                    state.entries().stream().noneMatch(entry -> entry.key().equals(kept.getKey()));
            if (isGone) {
                kept.getValue().close();
            }
            return isGone;
        });
        try (NoGradGuard _ = new NoGradGuard()) {
            for (StateEntry entry : state.entries()) {
                copy.put(new StateEntry(entry.name(), entry.globalShape(), entry.offsets(), copy(entry)));
            }
        }
        return copy;
    }

    private Tensor copy(StateEntry entry) {
        Tensor kept = memory.get(entry.key());
        if (kept != null && TensorMemory.form(kept).equals(TensorMemory.form(entry.local()))) {
            TensorMemory.copy(entry.local(), kept);
            return kept;
        }
        if (kept != null) {
            kept.close();
        }
        try (Tensor detached = entry.local().detach();
                Tensor host = DeviceWaits.onHost(detached);
                Tensor contiguous = host.contiguous()) {
            boolean isShared = TensorMemory.address(contiguous) == TensorMemory.address(entry.local());
            Tensor fresh = TensorMemory.own(isShared ? contiguous.clone() : contiguous);
            memory.put(entry.key(), fresh);
            return fresh;
        }
    }

    @Override
    public void close() {
        memory.values().forEach(Tensor::close);
        memory.clear();
    }
}

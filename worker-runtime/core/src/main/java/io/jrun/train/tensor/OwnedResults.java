package io.jrun.train.tensor;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Notes the results of a computation that its code takes by {@link TensorMemory#own(Tensor)}, such as for a field. A result
 * has a gradient and is no leaf. The thread that opens the notes closes them.
 */
public final class OwnedResults implements AutoCloseable {
    private static final ThreadLocal<@Nullable OwnedResults> OPEN = new ThreadLocal<>();

    private final @Nullable OwnedResults outer = OPEN.get();
    private final List<Tensor> taken = new ArrayList<>();

    /** Begins to note what this thread takes. */
    public OwnedResults() {
        OPEN.set(this);
    }

    static Tensor note(Tensor owned) {
        OwnedResults open = OPEN.get();
        if (open != null && owned.requires_grad() && !owned.is_leaf()) {
            open.taken.add(owned);
        }
        return owned;
    }

    /** The number of tensors that are still owned and are none of {@code returned}. */
    public long countBeside(List<Tensor> returned) {
        Set<Long> known = returned.stream().map(TensorMemory::identity).collect(Collectors.toSet());
        return taken.stream()
                .filter(tensor -> !tensor.isNull() && tensor.referenceCount() > 0)
                .filter(tensor -> !known.contains(TensorMemory.identity(tensor)))
                .count();
    }

    @Override
    public void close() {
        if (outer == null) {
            OPEN.remove();
        } else {
            OPEN.set(outer);
        }
    }
}

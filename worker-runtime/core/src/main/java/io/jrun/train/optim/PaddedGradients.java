package io.jrun.train.optim;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * Memory of another object in which {@link FlatOptimizer} reads gradients without a copy. Each gradient begins on a cache
 * line and is padded to a whole cache line. One thread at a time.
 */
public interface PaddedGradients {
    /** No memory: each gradient has memory of its own. */
    PaddedGradients NONE = of(List.of());

    /**
     * The memory that has gradients at this time, on the device of the parameters. An optimizer asks in each step,
     * because the memory may be freed between steps and have other addresses afterwards.
     */
    List<MemorySegment> segments();

    /**
     * Drops the gradients of parameters and frees memory that has no gradient then, as torch's {@code
     * zero_grad(set_to_none=True)}. Memory that lives as long as its owner keeps all gradients; the caller sets to zero
     * what is still in {@code .grad}.
     *
     * @param parameters their identities, see {@code TensorMemory.identity}
     */
    void drop(Set<Long> parameters);

    /** Memory that is never freed and keeps its gradients. */
    static PaddedGradients of(List<MemorySegment> segments) {
        List<MemorySegment> kept = List.copyOf(segments);
        return new PaddedGradients() {
            @Override
            public List<MemorySegment> segments() {
                return kept;
            }

            @Override
            public void drop(Set<Long> parameters) {
                // The gradients stay for the caller to set to zero.
            }
        };
    }
}

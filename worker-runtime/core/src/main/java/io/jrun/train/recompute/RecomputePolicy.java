package io.jrun.train.recompute;

import io.jrun.train.module.ModuleWrapper;
import java.util.concurrent.atomic.AtomicInteger;

/** Chooses the layers of a model that are recomputed. */
@FunctionalInterface
public interface RecomputePolicy {
    /** Keeps all activations. */
    RecomputePolicy NONE = _ -> false;

    /** Recomputes every layer: the least memory, one more forward pass. */
    RecomputePolicy ALL = _ -> true;

    /**
     * Whether to recompute a layer.
     *
     * @param layer number of the layer, from 0
     */
    boolean recomputes(int layer);

    /**
     * A wrapper for one model: the layers that the policy chooses become segments. Layers count from 0 in their order.
     */
    default ModuleWrapper wrapper() {
        return wrapper((name, part, forward) -> RecomputedSegment.of(name, part, forward)::forward);
    }

    /** As {@link #wrapper()}, but {@code segments} makes the segments. */
    default ModuleWrapper wrapper(ModuleWrapper segments) {
        AtomicInteger next = new AtomicInteger();
        return (name, part, forward) ->
                recomputes(next.getAndIncrement()) ? segments.wrap(name, part, forward) : forward;
    }

    /**
     * Recomputes one layer in {@code interval}: the layers {@code interval - 1}, {@code 2 * interval - 1} and so on.
     */
    static RecomputePolicy oneIn(int interval) {
        if (interval < 1) {
            throw new IllegalArgumentException("interval must be at least 1, not " + interval);
        }
        return layer -> layer % interval == interval - 1;
    }
}

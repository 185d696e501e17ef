package io.jrun.train.recompute;

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
     * Recomputes one layer in {@code interval}: the layers {@code interval - 1}, {@code 2 * interval - 1} and so on.
     */
    static RecomputePolicy oneIn(int interval) {
        if (interval < 1) {
            throw new IllegalArgumentException("interval must be at least 1, not " + interval);
        }
        return layer -> layer % interval == interval - 1;
    }
}

package io.jrun.train.autograd;

import java.util.BitSet;
import org.bytedeco.pytorch.Tensor;

/**
 * Hooks on a set of leaves. The caller must keep this object strongly reachable: the engine holds hooks only weakly.
 */
public interface LeafHooks extends AutoCloseable {
    /**
     * The indexes of the leaves that a backward pass from {@code root} can reach. Visits each graph node once; a visit
     * takes about 1 us.
     */
    BitSet reachableFrom(Tensor root);

    /** Removes the hooks. */
    @Override
    void close();
}

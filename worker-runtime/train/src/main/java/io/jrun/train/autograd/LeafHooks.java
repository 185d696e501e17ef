package io.jrun.train.autograd;

import java.util.BitSet;
import org.bytedeco.pytorch.Tensor;

/** Hooks on a set of leaves. Must stay strongly reachable: the engine itself holds hooks only weakly. */
public interface LeafHooks extends AutoCloseable {
    /** Which leaves a backward pass from {@code root} can reach. Costs one visit per graph node, about a microsecond each. */
    BitSet reachableFrom(Tensor root);

    /** Removes the hooks. */
    @Override
    void close();
}

package io.jrun.train.autograd;

import java.util.List;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Tensor;

/** What the parallelisms need of the autograd engine beyond what the presets offer by name. */
public interface AutogradBridge {
    /** The implementation for the libtorch of this class path. */
    static AutogradBridge instance() {
        return NodeBridge.INSTANCE;
    }

    /**
     * Calls {@code accumulated} with a leaf's place in the list each time a backward pass has added to its
     * {@code .grad}: torch's post-accumulate-grad hook. It runs on the thread that runs the backward pass, before
     * {@code backward} returns; what it throws comes out of {@code backward} as a RuntimeException that carries its text.
     *
     * @param leaves tensors that require a gradient and have no history; kept alive by the watch
     */
    LeafHooks watch(List<Tensor> leaves, IntConsumer accumulated);
}

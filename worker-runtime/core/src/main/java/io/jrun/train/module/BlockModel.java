package io.jrun.train.module;

import java.util.List;
import org.bytedeco.pytorch.Module;

/** A model of blocks, whose forward pass calls {@link ModelBlock#forward} of each block. */
public interface BlockModel {
    /**
     * The built blocks in their order, each the same object in all calls.
     *
     * @throws IllegalStateException if the model is not built
     */
    List<ModelBlock> blocks();

    /**
     * Whether the model computes its loss by itself from all outputs. The outputs of other models may be parts of logits
     * for a {@code TokenLoss}.
     */
    default boolean hasOwnLoss() {
        return false;
    }

    /**
     * Checks that a module has all its layers.
     *
     * @throws IllegalStateException if the module is a model of blocks that is not built
     */
    static void requireBuilt(Module module) {
        if (module instanceof BlockModel model) {
            List<ModelBlock> _ = model.blocks();
        }
    }
}

package io.jrun.train.module;

import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * Puts code around the forward method of a part of a model. A model calls the wrapper for each part as soon as the part
 * is built, and then calls the returned method instead of the part's own. libtorch has no hooks on modules in C++.
 */
@FunctionalInterface
public interface ModuleWrapper {
    /** Leaves each part as it is. */
    ModuleWrapper NONE = (_, _, forward) -> forward;

    /**
     * Takes over a part.
     *
     * @param name of the part in the model, such as {@code block0}: the names of its parameters begin with it
     * @param part its parameters have their first values
     * @param forward computes the part's output from its input
     */
    UnaryOperator<Tensor> wrap(String name, Module part, UnaryOperator<Tensor> forward);

    /** A wrapper that puts this one around what {@code inner} returns. */
    default ModuleWrapper around(ModuleWrapper inner) {
        return (name, part, forward) -> wrap(name, part, inner.wrap(name, part, forward));
    }
}

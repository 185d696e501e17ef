package io.jrun.trainer;

import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;

/** Defines the model of a training. All ranks get equal setups. */
@FunctionalInterface
public interface ModelFactory {
    /**
     * The model for a setup. Each call makes a new object.
     *
     * @throws io.jrun.trainer.arguments.InvalidArgumentException with one line, if no such model can be made
     */
    ModelDefinition of(ModelSetup setup);

    /** Whether the model has layers of experts. */
    default boolean hasExperts() {
        return false;
    }
}

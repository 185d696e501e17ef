package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;

/**
 * Where the model comes from.
 *
 * @param factory makes the model
 * @param vocabulary the number of tokens
 * @param context tokens of one text
 * @param seed decides the first values
 */
public record ModelSource(ModelFactory factory, int vocabulary, int context, long seed) {
    /** The tokens of a text whose tokens are its bytes. */
    static final int BYTES = 256;

    /** The model on a device, not built. */
    ModelDefinition definition(Device device) {
        return factory.of(new ModelSetup(vocabulary, context, device, seed));
    }

    /** The same for data of a form. */
    ModelSource withData(int newVocabulary, int length) {
        return new ModelSource(factory, newVocabulary, length, seed);
    }
}

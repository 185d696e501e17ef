package io.jrun.examples.gpt;

import io.jrun.examples.options.InvalidArgumentException;

/**
 * The shape of the model.
 *
 * @param context tokens of one text
 * @param isTied whether the output layer uses the matrix of the embedding
 * @param vocabulary the number of tokens
 */
record GptConfig(int layers, int width, int heads, int context, boolean isTied, int vocabulary) {
    private static final int BYTES = 256;

    GptConfig {
        if (width % heads != 0) {
            throw new InvalidArgumentException("--width " + width + " is not a multiple of --heads " + heads);
        }
    }

    /** A model of bytes. */
    GptConfig(int layers, int width, int heads, int context, boolean isTied) {
        this(layers, width, heads, context, isTied, BYTES);
    }

    /** The same for another vocabulary. */
    GptConfig withVocabulary(int newVocabulary) {
        return new GptConfig(layers, width, heads, context, isTied, newVocabulary);
    }

    /** The shape in words; a checkpoint of another shape cannot be resumed. */
    String summary() {
        return layers + " layers, width " + width + ", " + heads + " heads, context " + context
                + (isTied ? ", tied" : ", untied") + (vocabulary == BYTES ? "" : ", " + vocabulary + " tokens");
    }
}

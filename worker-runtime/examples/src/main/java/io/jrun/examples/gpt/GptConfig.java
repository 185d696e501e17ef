package io.jrun.examples.gpt;

/**
 * The shape of the model.
 *
 * @param isTied whether the output layer uses the matrix of the embedding
 */
record GptConfig(int layers, int width, int heads, int context, boolean isTied) {
    GptConfig {
        if (width % heads != 0) {
            throw new InvalidArgumentException("--width " + width + " is not a multiple of --heads " + heads);
        }
    }

    /** The shape in words; a checkpoint of another shape cannot be resumed. */
    String summary() {
        return layers + " layers, width " + width + ", " + heads + " heads, context " + context
                + (isTied ? ", tied" : ", untied");
    }
}

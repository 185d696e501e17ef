package io.jrun.examples.gpt;

/**
 * The shape of the model.
 *
 * @param isTied the output matrix is the embedding's
 */
record GptConfig(int layers, int width, int heads, int context, boolean isTied) {
    GptConfig {
        if (width % heads != 0) {
            throw new UsageException("--width " + width + " is not a multiple of --heads " + heads);
        }
    }

    /** What a checkpoint must agree in. */
    String summary() {
        return layers + " layers, width " + width + ", " + heads + " heads, context " + context
                + (isTied ? ", tied" : ", untied");
    }
}

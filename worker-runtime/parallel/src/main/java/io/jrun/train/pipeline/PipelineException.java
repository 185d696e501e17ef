package io.jrun.train.pipeline;

import java.io.Serial;

/** A model, a batch or a cut that a pipeline cannot run. The message says what to change. */
public final class PipelineException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    PipelineException(String message) {
        super(message);
    }
}

package io.jrun.train.pipeline.schedule;

import java.io.Serial;

/** A schedule cannot be made, read or run. The message names the violated rule. */
public final class ScheduleException extends IllegalArgumentException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** Makes the exception with this message. */
    public ScheduleException(String message) {
        super(message);
    }
}

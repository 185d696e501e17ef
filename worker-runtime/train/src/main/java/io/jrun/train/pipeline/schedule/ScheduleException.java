package io.jrun.train.pipeline.schedule;

import java.io.Serial;

/** A schedule cannot be made, read or run. The message says which rule it breaks. */
public final class ScheduleException extends IllegalArgumentException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** With the whole message. */
    public ScheduleException(String message) {
        super(message);
    }
}

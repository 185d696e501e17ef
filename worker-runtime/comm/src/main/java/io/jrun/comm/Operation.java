package io.jrun.comm;

/** An operation in a {@link Lane}'s queue, and what its caller holds of it. */
record Operation(Lane.Task task, long sequence, Pending work) {
    Operation(Lane.Task task, long sequence) {
        this(task, sequence, new Pending());
    }

    void queued() {
        task.queued(sequence);
    }

    void run() {
        try {
            task.run(sequence);
        } catch (Throwable failure) {
            work.fail(failure);
            return;
        }
        work.complete();
    }
}

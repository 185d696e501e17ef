package io.jrun.comm.operation;

/** An operation in the queue of an {@link OperationQueue}, with the caller's handle. */
record QueuedOperation(OperationQueue.Task task, long sequence, PendingWork work) {
    QueuedOperation(OperationQueue.Task task, long sequence) {
        this(task, sequence, new PendingWork());
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

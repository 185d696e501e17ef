package io.jrun.comm.operation;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.TestAgent;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that sleeps in a queue wakes for its own event only. */
@Timeout(60)
class OperationQueueTest {
    private static final String NAME = "a queue of the test";

    private final OperationQueue queue = new OperationQueue(NAME);

    /** An operation that records its thread. */
    private static final class RecordingTask implements OperationQueue.Task {
        private final CompletableFuture<Thread> runner = new CompletableFuture<>();

        @Override
        public void queued(long sequence) {}

        @Override
        public void run(long sequence) {
            runner.complete(Thread.currentThread());
        }

        Thread await() throws Exception {
            return runner.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void anIdleProgressThreadRunsTheNextOperation() throws Exception {
        RecordingTask first = new RecordingTask();
        Work _ = queue.submit(first);
        awaitAsleep(first.await());

        RecordingTask second = new RecordingTask();
        Work _ = queue.submit(second);

        assertThat(second.await()).isSameAs(first.await());
    }

    @Test
    void queuedOperationsRunAfterTheOperationOfTheCaller() throws Exception {
        RecordingTask before = new RecordingTask();
        Work _ = queue.submit(before);
        awaitAsleep(before.await());
        assertThat(queue.enter()).isEqualTo(1);
        RecordingTask behind = new RecordingTask();
        Work _ = queue.submit(behind);
        awaitAsleep(before.await());
        assertThat(behind.runner).isNotDone();

        queue.leave();

        assertThat(behind.await()).isSameAs(before.await());
    }

    @Test
    void closingEndsAnIdleProgressThread() throws Exception {
        RecordingTask task = new RecordingTask();
        Work _ = queue.submit(task);
        awaitAsleep(task.await());

        queue.close();

        assertThat(task.await().join(Duration.ofSeconds(20))).isTrue();
    }

    @Test
    void awaitEndReturnsAfterTheLastOperation() throws Exception {
        assertThat(queue.enter()).isZero();
        queue.close();
        CompletableFuture<Boolean> hasEnded = new CompletableFuture<>();
        Thread waiting = Thread.ofPlatform()
                .start(() -> hasEnded.complete(queue.awaitEnd(Deadline.after(Duration.ofSeconds(50)))));
        awaitAsleep(waiting);

        queue.leave();

        assertThat(hasEnded.get(20, TimeUnit.SECONDS)).isTrue();
    }

    private static void awaitAsleep(Thread thread) throws InterruptedException {
        TestAgent.await(
                thread + " sleeps",
                () -> thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING);
    }
}

package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class JobEventLoopTest {
    @Test
    void exceptionsOfEventsAreReported() throws InterruptedException {
        BlockingQueue<Throwable> failures = new LinkedBlockingQueue<>();
        try (JobEventLoop mailbox = new JobEventLoop(failures::add)) {
            mailbox.post(() -> {
                throw new IllegalStateException("posted");
            });
            assertThat(failures.poll(10, TimeUnit.SECONDS)).hasMessage("posted");
            mailbox.post(() -> {
                throw new NoClassDefFoundError("posted");
            });
            assertThat(failures.poll(10, TimeUnit.SECONDS)).hasMessage("posted");
            mailbox.post(() -> {
                var _ = mailbox.postIn(1, () -> {
                    throw new OutOfMemoryError("timed");
                });
            });
            assertThat(failures.poll(10, TimeUnit.SECONDS)).hasMessage("timed");
        }
    }
}

package io.jrun.launcher.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ProgressLinesTest {
    @Test
    void eachLineIsMadeAnew() throws Exception {
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        AtomicInteger bytes = new AtomicInteger();
        try (ProgressLines _ =
                ProgressLines.start(Duration.ofMillis(1), () -> bytes.incrementAndGet() + " B written", lines::add)) {
            assertThat(lines.poll(10, TimeUnit.SECONDS)).isEqualTo("1 B written, 0 s so far");
            assertThat(lines.poll(10, TimeUnit.SECONDS)).startsWith("2 B written, ");
        }
    }
}

package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Frame;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The number of dropped reports is published at once, then once a minute, and at the end. */
class MetricEventsTest {
    private final List<JobEvent> published = new ArrayList<>();
    private final JobEventPublisher events = new JobEventPublisher();
    private long nowNanos;
    private final MetricEvents metrics = new MetricEvents(() -> nowNanos, events);

    MetricEventsTest() {
        events.subscribe((_, event) -> published.add(event));
    }

    private void report(long dropped) {
        metrics.publish(1, 0, new Frame.Metrics(7, Map.of("loss", 1.0), dropped));
        published.clear();
        metrics.tick();
    }

    @Test
    void droppedReportsAreCountedAndPublishedSeldom() {
        metrics.tick();
        report(0);
        assertThat(published).isEmpty();
        report(3);
        assertThat(published).containsExactly(new JobEvent.MetricsDropped(3));
        nowNanos += 59_000_000_000L;
        report(4);
        assertThat(published).isEmpty();
        nowNanos += 1_000_000_000L;
        report(0);
        assertThat(published).containsExactly(new JobEvent.MetricsDropped(7));
        report(1);
        assertThat(published).isEmpty();
        metrics.end();
        assertThat(published).containsExactly(new JobEvent.MetricsDropped(8));
    }
}

package io.jrun.launcher.console;

import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.JobEnded;
import io.jrun.launcher.event.JobEvent.MetricsDropped;
import io.jrun.launcher.event.JobEvent.Notice;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.jrun.launcher.event.JobEvent.StragglersChanged;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.event.Straggler;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Prints the events of a job that users need: notices, each straggler once a round and at the end, and the number of
 * dropped metric reports when it is first above 0 and at the end. The publisher calls it from one thread at a time.
 */
public final class EventConsole implements JobEventListener {
    private final Consumer<String> notices;
    private final Set<Integer> named = new HashSet<>();
    private long droppedMetrics;
    private long printedMetrics;

    /**
     * A console of one job.
     *
     * @param notices receives messages and does not block
     */
    public EventConsole(Consumer<String> notices) {
        this.notices = notices;
    }

    @Override
    public void on(long timeMillis, JobEvent event) {
        // The console does not show the other events. A switch over types would cost a bootstrap at each start.
        if (event instanceof Notice(String text)) {
            notices.accept(text);
        } else if (event instanceof RoundStarted) {
            named.clear();
        } else if (event instanceof StragglersChanged(List<Straggler> all, boolean atEnd)) {
            report(all, atEnd);
        } else if (event instanceof MetricsDropped(long count)) {
            dropped(count);
        } else if (event instanceof JobEnded) {
            ended();
        }
    }

    private void dropped(long count) {
        if (droppedMetrics == 0) {
            notices.accept("dropped " + count
                    + " reports of metrics so far, because the workers report faster than the limit");
            printedMetrics = count;
        }
        droppedMetrics = count;
    }

    private void ended() {
        if (droppedMetrics > printedMetrics) {
            notices.accept("dropped " + droppedMetrics + " reports of metrics in all");
        }
    }

    private void report(List<Straggler> all, boolean atEnd) {
        for (Straggler straggler : all) {
            if (atEnd) {
                notices.accept(straggler.words());
            } else if (named.add(straggler.rank())) {
                notices.accept(straggler.wordsSoFar());
            }
        }
    }
}

package io.jrun.launcher.console;

import io.jrun.launcher.event.JobEvent;
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
 * Says on the console what a person wants to know of a job: jrun's own sentences, and each straggler once a round and
 * at the end. The publisher calls it from one thread at a time.
 */
public final class EventConsole implements JobEventListener {
    private final Consumer<String> notices;
    private final Set<Integer> named = new HashSet<>();

    /**
     * A console of one job.
     *
     * @param notices takes a sentence, and does not wait
     */
    public EventConsole(Consumer<String> notices) {
        this.notices = notices;
    }

    @Override
    public void on(long timeMillis, JobEvent event) {
        switch (event) {
            case Notice(String text) -> notices.accept(text);
            case RoundStarted _ -> named.clear();
            case StragglersChanged(List<Straggler> all, boolean atEnd) -> report(all, atEnd);
            default -> {} // The console does not show the other events.
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

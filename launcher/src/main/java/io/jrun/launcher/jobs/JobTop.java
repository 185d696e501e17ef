package io.jrun.launcher.jobs;

import io.jrun.comm.file.ControlCharacters;
import io.jrun.launcher.view.JobView;
import io.jrun.launcher.view.OpenJobs;
import io.jrun.launcher.view.TopText;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * {@code jrun top}: the ranks of a job, or of all running jobs, as text. A terminal is redrawn every second until the
 * job ends. Confined to one thread.
 */
public final class JobTop {
    private static final long PERIOD_MILLIS = 1000;

    /** To the first place, each line cleared to its end, and the rest of the screen cleared: no flicker. */
    private static final String HOME = "\033[H";

    private static final String CLEAR_LINE = "\033[K";
    private static final String CLEAR_REST = "\033[J";

    private final JobFinder finder;
    private final OutputStream out;
    private final boolean isTerminal;

    /** @param isTerminal whether {@code out} is redrawn; else the text is printed once */
    public JobTop(JobFinder finder, OutputStream out, boolean isTerminal) {
        this.finder = finder;
        this.out = out;
        this.isTerminal = isTerminal;
    }

    /** Shows a job, or all running jobs. */
    public void run(Optional<String> job) throws IOException, InterruptedException {
        Optional<JobView> one = job.map(finder::view);
        Optional<OpenJobs> all = finder.index().map(OpenJobs::new);
        while (true) {
            List<JobView> shown =
                    one.map(List::of).orElseGet(() -> all.map(OpenJobs::running).orElse(List.of()));
            for (JobView view : shown) {
                view.refreshMetrics();
            }
            print(TopText.lines(shown, System.currentTimeMillis()));
            boolean isOver = one.isPresent() && shown.getFirst().record().isOver();
            if (!isTerminal || isOver) {
                return;
            }
            TimeUnit.MILLISECONDS.sleep(PERIOD_MILLIS);
            if (one.isPresent()) {
                one.get().refresh();
            }
        }
    }

    private void print(List<String> recorded) throws IOException {
        List<String> lines = recorded.stream().map(ControlCharacters::replaced).toList();
        StringBuilder text = new StringBuilder();
        if (isTerminal) {
            text.append(HOME);
            TerminalSize.read().fitted(lines).forEach(line -> text.append(line).append(CLEAR_LINE + "\n"));
            text.append(CLEAR_REST);
        } else {
            lines.forEach(line -> text.append(line).append('\n'));
        }
        out.write(text.toString().getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}

package io.jrun.agent.worker;

import io.jrun.agent.log.LogFile;
import io.jrun.agent.log.LogLimit;
import io.jrun.agent.log.LogPump;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.commons.exec.ExecuteStreamHandler;

/**
 * The streams of one worker, as the stream handler of Commons Exec. stdin is empty unless the worker reads the
 * launcher's standard input, and each output has a pump.
 * After the exit of the worker the pumps have one second to drain the pipes. Only another process, such as a daemon of
 * the worker, holds a pipe open for longer.
 */
public final class WorkerLogs implements ExecuteStreamHandler {
    /** The mode of files, for any umask, because output may hold secrets. */
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final WorkerPlan plan;
    private final Optional<Consumer<OutputStream>> input;
    private final Consumer<String> notice;
    private final LogFile stdout;
    private final LogFile stderr;
    private final List<LogPump> pumps = new ArrayList<>();
    private Runnable onExit = () -> {};

    /**
     * Makes the log folder and both files, which only their user can read.
     *
     * @param limit the most that each of the two streams keeps on disk; empty for everything
     * @param input receives the stdin of the worker, and closes it; empty for an empty stdin
     */
    public WorkerLogs(
            WorkerPlan plan,
            Optional<LogLimit> limit,
            Runnable onChange,
            Optional<Consumer<OutputStream>> input,
            Consumer<String> notice)
            throws IOException {
        this.plan = plan;
        this.input = input;
        this.notice = notice;
        Path folder = Files.createDirectories(plan.logDir(), OWNER_ONLY);
        WorkerPostMortem.clear(folder);
        this.stdout = new LogFile(folder.resolve("stdout.log"), limit, onChange);
        this.stderr = new LogFile(folder.resolve("stderr.log"), limit, onChange);
    }

    /** The file with the worker's stdout. */
    public LogFile stdout() {
        return stdout;
    }

    /** The file with the worker's stderr. */
    public LogFile stderr() {
        return stderr;
    }

    /** Ends both files, also if no process has written to them. */
    void close() {
        stdout.close();
        stderr.close();
    }

    void onExit(Runnable action) {
        onExit = action;
    }

    @Override
    public void setProcessInputStream(OutputStream stdin) throws IOException {
        if (input.isPresent()) {
            input.get().accept(stdin);
        } else {
            stdin.close();
        }
    }

    @Override
    public void setProcessOutputStream(InputStream pipe) {
        pumps.add(new LogPump("jrun-stdout-" + plan.rank(), pipe, stdout, false, notice));
    }

    @Override
    public void setProcessErrorStream(InputStream pipe) {
        pumps.add(new LogPump("jrun-stderr-" + plan.rank(), pipe, stderr, plan.dropIncubatorLine(), notice));
    }

    @Override
    public void start() {
        pumps.forEach(LogPump::start);
    }

    /** Called by Commons Exec right after waitpid. */
    @Override
    public void stop() {
        onExit.run();
        long deadline = System.nanoTime() + DRAIN_NANOS;
        pumps.forEach(pump -> pump.finish(deadline));
    }
}

package io.jrun.launcher.arrival;

import io.jrun.launcher.arrival.Bootstrap.Ended;
import io.jrun.launcher.arrival.Bootstrap.Start;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a {@link Bootstrap}: runs them, so many at a time until their agents have come, hands each the secret, and
 * tells the places of those that will not come. Thread-safe.
 */
final class Starts implements AutoCloseable {
    /** sshd takes ten connections at a time that have not logged in (MaxStartups); these go to different hosts. */
    private static final int AT_A_TIME = 32;

    private static final int LAST_LINES = 3;

    /** An agent ends with its job in milliseconds, or when its workers cannot be killed after 10 s. */
    private static final long CLOSE_SECONDS = 15;

    private final Bootstrap bootstrap;
    private final Invitation invitation;
    private final List<Arrival> places;
    private final Consumer<String> say;
    private final Semaphore turns = new Semaphore(AT_A_TIME);
    private final Map<Start, Process> processes = new HashMap<>();
    private final List<CompletableFuture<Void>> ended = new ArrayList<>();
    private volatile boolean closed;

    /**
     * Nothing runs yet.
     *
     * @param places by node rank
     * @param say hears what the processes write once their agents are there
     */
    Starts(Bootstrap bootstrap, Invitation invitation, List<Arrival> places, Consumer<String> say) {
        this.bootstrap = bootstrap;
        this.invitation = invitation;
        this.places = places;
        this.say = say;
    }

    /** Begins to run all of them, in the background. */
    void begin(List<Start> starts) {
        for (Start start : starts) {
            CompletableFuture<Void> over = new CompletableFuture<>();
            ended.add(over);
            Thread.ofPlatform().daemon().name("jrun-start-" + start.name()).start(() -> {
                try {
                    run(start);
                } finally {
                    over.complete(null);
                }
            });
        }
    }

    private void run(Start start) {
        CompletableFuture<Void> come = come(start);
        CompletableFuture<Void> turnIsOver = new CompletableFuture<>();
        turns.acquireUninterruptibly();
        var _ = turnIsOver.thenRun(turns::release);
        var _ = come.thenRun(() -> turnIsOver.complete(null));
        try {
            Process process = launch(start);
            if (process != null) {
                Ended end = attend(process, start, come);
                failMissing(start, bootstrap.explain(start, end));
            }
        } catch (IOException e) {
            failMissing(start, "its start failed: " + e.getMessage());
        } finally {
            turnIsOver.complete(null);
        }
    }

    /** Null after the end. */
    private synchronized @Nullable Process launch(Start start) throws IOException {
        if (closed) {
            return null;
        }
        Process process =
                new ProcessBuilder(start.command()).redirectErrorStream(true).start();
        processes.put(start, process);
        return process;
    }

    private Ended attend(Process process, Start start, CompletableFuture<Void> come) throws IOException {
        try (OutputStream stdin = process.getOutputStream()) {
            stdin.write((invitation.secret() + "\n").getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            // it has ended already, and says why below
        }
        Deque<String> last = new ArrayDeque<>();
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String text = line.strip();
                if (text.isEmpty()) {
                    continue;
                }
                if (come.isDone() && !closed) {
                    say.accept(start.name() + ": " + text);
                }
                last.add(text);
                if (last.size() > LAST_LINES) {
                    last.remove();
                }
            }
        }
        return new Ended(process.onExit().join().exitValue(), List.copyOf(last));
    }

    private void failMissing(Start start, String why) {
        for (int node : start.nodes()) {
            Arrival place = places.get(node);
            if (!place.arrived().isDone()) {
                place.fail(why);
            }
        }
    }

    /**
     * Has those end whose agents have not come, and waits for the others, which end after their agents; its patience over,
     * kills what is left.
     */
    @Override
    public void close() {
        Map<Start, Process> left;
        synchronized (this) {
            closed = true;
            left = Map.copyOf(processes);
        }
        turns.release(ended.size()); // who still waits for a turn need not
        left.forEach((start, process) -> {
            if (!come(start).isDone()) {
                bootstrap.giveUp(process);
            }
        });
        try {
            CompletableFuture.allOf(ended.toArray(CompletableFuture[]::new)).get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            say.accept("not all of what started the agents has ended in " + CLOSE_SECONDS + " s; it is killed");
        }
        left.values().forEach(Process::destroyForcibly);
    }

    private CompletableFuture<Void> come(Start start) {
        return CompletableFuture.allOf(
                start.nodes().stream().map(node -> places.get(node).arrived()).toArray(CompletableFuture[]::new));
    }
}

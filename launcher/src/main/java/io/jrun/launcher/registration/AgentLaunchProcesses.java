package io.jrun.launcher.registration;

import io.jrun.launcher.registration.AgentLauncher.LaunchCommand;
import io.jrun.launcher.registration.AgentLauncher.LaunchExit;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs the processes of an {@link AgentLauncher}, a limited number at a time until their agents have arrived. Sends
 * each process the secret, and reports the agents that will not arrive. Thread-safe.
 */
final class AgentLaunchProcesses implements AutoCloseable {
    /**
     * Number of processes at a time. sshd accepts ten connections without a login (MaxStartups); these go to different
     * hosts.
     */
    private static final int AT_A_TIME = 32;

    private static final int LAST_LINES = 3;

    /**
     * Longest wait for the end of the processes. An agent ends in milliseconds, or after 10 s if its workers cannot be
     * killed.
     */
    private static final long CLOSE_SECONDS = 15;

    private final AgentLauncher agentLauncher;
    private final List<String> hosts;
    private final JoinToken joinToken;
    private final List<AgentSlot> places;
    private final Consumer<String> notices;
    private final Semaphore turns = new Semaphore(AT_A_TIME);
    private final List<LaunchProcess> calls = new ArrayList<>();
    private volatile boolean closed;

    /** One process, and the agents that it starts. */
    private static final class LaunchProcess {
        private final LaunchCommand start;
        private final List<AgentRegistration> awaited;
        private final CompletableFuture<Void> come;
        private final CompletableFuture<Void> ended = new CompletableFuture<>();
        private @Nullable Process process;

        LaunchProcess(LaunchCommand start, List<AgentRegistration> awaited) {
            this.start = start;
            this.awaited = awaited;
            this.come = CompletableFuture.allOf(
                    awaited.stream().map(AgentRegistration::arrived).toArray(CompletableFuture[]::new));
        }

        /** Whether no agent of this process can end by itself: one has not arrived, or all are lost. */
        boolean isVain() {
            return !come.isDone() || awaited.stream().allMatch(AgentRegistration::isLost);
        }
    }

    /**
     * Makes the object. {@link #begin} starts processes.
     *
     * @param hosts by node rank
     * @param places by node rank
     * @param notices receives the output of the processes after their agents have arrived
     */
    AgentLaunchProcesses(
            AgentLauncher agentLauncher,
            List<String> hosts,
            JoinToken joinToken,
            List<AgentSlot> places,
            Consumer<String> notices) {
        this.agentLauncher = agentLauncher;
        this.hosts = hosts;
        this.joinToken = joinToken;
        this.places = places;
        this.notices = notices;
    }

    /**
     * Starts the agents of these nodes in the background, and ends only the processes that started their agents before.
     */
    synchronized void begin(List<Integer> nodes) {
        calls.stream().filter(call -> nodes.containsAll(call.start.nodes())).forEach(AgentLaunchProcesses::giveUp);
        for (LaunchCommand start : agentLauncher.plan(hosts, nodes, joinToken)) {
            LaunchProcess call = new LaunchProcess(
                    start,
                    start.nodes().stream()
                            .map(node -> places.get(node).arrival())
                            .toList());
            calls.add(call);
            Thread.ofPlatform().daemon().name("jrun-start-" + start.name()).start(() -> {
                try {
                    run(call);
                } finally {
                    call.ended.complete(null);
                }
            });
        }
    }

    private static void giveUp(LaunchProcess call) {
        if (call.process != null) {
            call.process.destroy();
        }
    }

    private void run(LaunchProcess call) {
        CompletableFuture<Void> turnIsOver = new CompletableFuture<>();
        turns.acquireUninterruptibly();
        var _ = turnIsOver.thenRun(turns::release);
        var _ = call.come.thenRun(() -> turnIsOver.complete(null));
        try {
            Process process = launch(call);
            if (process != null) {
                LaunchExit end = attend(process, call);
                failMissing(call, agentLauncher.explain(call.start, end));
            }
        } catch (IOException e) {
            failMissing(call, "its start failed: " + e.getMessage());
        } finally {
            turnIsOver.complete(null);
        }
    }

    /** Null after the end. */
    private synchronized @Nullable Process launch(LaunchProcess call) throws IOException {
        if (closed) {
            return null;
        }
        call.process = new ProcessBuilder(call.start.command())
                .redirectErrorStream(true)
                .start();
        return call.process;
    }

    private LaunchExit attend(Process process, LaunchProcess call) throws IOException {
        try (OutputStream stdin = process.getOutputStream()) {
            stdin.write((joinToken.secret() + "\n").getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            // the process has ended already, and its output has the reason
        }
        Deque<String> last = new ArrayDeque<>();
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String text = line.strip();
                if (text.isEmpty()) {
                    continue;
                }
                if (call.come.isDone() && !closed) {
                    notices.accept(call.start.name() + ": " + text);
                }
                last.add(text);
                if (last.size() > LAST_LINES) {
                    last.remove();
                }
            }
        }
        return new LaunchExit(process.onExit().join().exitValue(), List.copyOf(last));
    }

    private static void failMissing(LaunchProcess call, String why) {
        call.awaited.stream().filter(arrival -> !arrival.arrived().isDone()).forEach(arrival -> arrival.fail(why));
    }

    /**
     * Ends the processes whose agents have not arrived or were lost, and waits for the others, which end after their
     * agents. After {@value #CLOSE_SECONDS} s it kills the processes that are left.
     */
    @Override
    public void close() {
        List<LaunchProcess> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(calls);
            all.stream().filter(LaunchProcess::isVain).forEach(AgentLaunchProcesses::giveUp);
        }
        turns.release(all.size()); // frees the starts that wait for their turn
        try {
            CompletableFuture.allOf(all.stream().map(call -> call.ended).toArray(CompletableFuture[]::new))
                    .get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            notices.accept(
                    "some processes that started agents did not end within " + CLOSE_SECONDS + " s; jrun kills them");
        }
        synchronized (this) {
            all.stream().map(call -> call.process).filter(Objects::nonNull).forEach(Process::destroyForcibly);
        }
    }
}

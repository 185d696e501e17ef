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
 * The processes of a {@link AgentLauncher}: runs them, so many at a time until their agents have come, hands each the
 * secret, and tells the places of those that will not come. Thread-safe.
 */
final class AgentLaunchProcesses implements AutoCloseable {
    /** sshd takes ten connections at a time that have not logged in (MaxStartups); these go to different hosts. */
    private static final int AT_A_TIME = 32;

    private static final int LAST_LINES = 3;

    /** An agent ends with its job in milliseconds, or when its workers cannot be killed after 10 s. */
    private static final long CLOSE_SECONDS = 15;

    private final AgentLauncher agentLauncher;
    private final List<String> hosts;
    private final JoinToken invitation;
    private final List<AgentSlot> places;
    private final Consumer<String> notices;
    private final Semaphore turns = new Semaphore(AT_A_TIME);
    private final List<LaunchProcess> calls = new ArrayList<>();
    private volatile boolean closed;

    /** One start, and the agents that it brings. */
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

        /** Whether no agent of this start can end by itself: one has not arrived, or all of them are lost. */
        boolean isVain() {
            return !come.isDone() || awaited.stream().allMatch(AgentRegistration::isLost);
        }
    }

    /**
     * Nothing runs yet.
     *
     * @param hosts by node rank
     * @param places by node rank
     * @param notices hears what the processes write once their agents are there
     */
    AgentLaunchProcesses(
            AgentLauncher agentLauncher,
            List<String> hosts,
            JoinToken invitation,
            List<AgentSlot> places,
            Consumer<String> notices) {
        this.agentLauncher = agentLauncher;
        this.hosts = hosts;
        this.invitation = invitation;
        this.places = places;
        this.notices = notices;
    }

    /**
     * Begins to start the agents of these nodes, in the background; what brought their agents before, and no other, is
     * ended.
     */
    synchronized void begin(List<Integer> nodes) {
        calls.stream().filter(call -> nodes.containsAll(call.start.nodes())).forEach(AgentLaunchProcesses::giveUp);
        for (LaunchCommand start : agentLauncher.plan(hosts, nodes, invitation)) {
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
     * Has those end whose agents have not come or were lost, and waits for the others, which end after their agents;
     * its patience over, kills what is left.
     */
    @Override
    public void close() {
        List<LaunchProcess> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(calls);
            all.stream().filter(LaunchProcess::isVain).forEach(AgentLaunchProcesses::giveUp);
        }
        turns.release(all.size()); // who still waits for a turn need not
        try {
            CompletableFuture.allOf(all.stream().map(call -> call.ended).toArray(CompletableFuture[]::new))
                    .get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            notices.accept("not all of what started the agents has ended in " + CLOSE_SECONDS + " s; it is killed");
        }
        synchronized (this) {
            all.stream().map(call -> call.process).filter(Objects::nonNull).forEach(Process::destroyForcibly);
        }
    }
}

package io.jrun.launcher.record;

import io.jrun.agent.control.Acceptor;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.coordinator.LocationQuery;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Serves the control socket of a running job: a unix-domain socket in the log folder, which only the user can enter. A
 * caller writes one line, {@code cancel}, {@code kill}, {@code timelines} or {@code stack [RANK...]}, and reads lines until the end.
 * Answers on threads of its own until closed.
 */
public final class JobControlServer implements AutoCloseable {
    /** An agent waits one second for a worker; the rest is for a busy machine. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

    private final ServerSocketChannel channel;
    private final Path socket;
    private final Runnable stop;
    private final Consumer<LocationQuery> ask;
    private final Supplier<CompletableFuture<Void>> timelines;
    private final Consumer<String> notices;

    private JobControlServer(
            ServerSocketChannel channel,
            Path socket,
            Runnable stop,
            Consumer<LocationQuery> ask,
            Supplier<CompletableFuture<Void>> timelines,
            Consumer<String> notices) {
        this.timelines = timelines;
        this.channel = channel;
        this.socket = socket;
        this.stop = stop;
        this.ask = ask;
        this.notices = notices;
    }

    /**
     * Opens the control socket of the job with this log folder. On a file system without sockets the job runs without a
     * control socket.
     *
     * @param stop stops the job as a signal does. The second call stops the job at once. Called from any thread
     * @param ask requests the locations of the job's workers. Called from any thread
     * @param timelines copies the timelines of other hosts into the log folder. Called from any thread
     * @param notices receives one message if callers cannot connect
     */
    public static JobControlServer open(
            Path folder,
            Runnable stop,
            Consumer<LocationQuery> ask,
            Supplier<CompletableFuture<Void>> timelines,
            Consumer<String> notices)
            throws IOException {
        JobControlServer jobControlServer = new JobControlServer(
                ServerSocketChannel.open(StandardProtocolFamily.UNIX),
                folder.resolve(UnixSocketPath.NAME),
                stop,
                ask,
                timelines,
                notices);
        try (UnixSocketPath path = UnixSocketPath.of(folder)) {
            Files.deleteIfExists(jobControlServer.socket); // of a job that was killed
            jobControlServer.channel.bind(path.address());
            Thread.ofPlatform().daemon().name("jrun-control").start(jobControlServer::accept);
        } catch (IOException e) {
            jobControlServer.close();
        }
        return jobControlServer;
    }

    private void accept() {
        new Acceptor(
                        channel,
                        problem -> notices.accept(
                                "'jrun cancel' and 'jrun stack' cannot reach this job at the moment: " + problem))
                .run(caller ->
                        Thread.ofPlatform().daemon().name("jrun-control-call").start(() -> serve(caller)));
    }

    private void serve(SocketChannel caller) {
        try (caller;
                BufferedReader in = new BufferedReader(Channels.newReader(caller, StandardCharsets.UTF_8))) {
            String line = in.readLine();
            if (line != null) {
                String reply = String.join("\n", answer(List.of(line.split(" ", -1)))) + "\n";
                Channels.newOutputStream(caller).write(reply.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            // the caller has ended
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private List<String> answer(List<String> words) throws InterruptedException {
        return switch (words.getFirst()) {
            case "cancel" -> {
                stop.run();
                yield List.of();
            }
            case "kill" -> {
                stop.run();
                stop.run();
                yield List.of();
            }
            case "timelines" -> {
                awaitTimelines();
                yield List.of();
            }
            case "stack" -> stacks(words.subList(1, words.size()));
            default ->
                List.of("this launcher does not know '" + words.getFirst() + "'; it is of another version of jrun");
        };
    }

    private void awaitTimelines() throws InterruptedException {
        try {
            timelines.get().get(ANSWER_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // the caller finds which timelines are missing
        }
    }

    private List<String> stacks(List<String> ranks) throws InterruptedException {
        Set<Integer> chosen = ranks.stream().map(Integer::valueOf).collect(Collectors.toSet());
        LocationQuery inquiry = new LocationQuery(chosen.isEmpty() ? Optional.empty() : Optional.of(chosen));
        ask.accept(inquiry);
        return inquiry.await(ANSWER_TIMEOUT).stream()
                .map(JobControlServer::words)
                .toList();
    }

    private static String words(LocationQuery.RankLocation answer) {
        RankRecord rank = answer.record();
        return "rank " + rank.rank() + "@" + answer.host() + " " + rank.place(LocationQuery.GROUP)
                + Arrays.stream(rank.stack().split("\n", -1))
                        .filter(line -> !line.isBlank())
                        .map(line -> "\n  " + line)
                        .collect(Collectors.joining());
    }

    @Override
    public void close() throws IOException {
        channel.close();
        Files.deleteIfExists(socket);
    }
}

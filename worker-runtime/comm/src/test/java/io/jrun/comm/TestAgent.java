package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.store.StoreTable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * A test agent with the complete protocol towards workers: starts real worker processes, speaks the control protocol
 * with them, and reports ended workers to the other workers.
 */
public final class TestAgent implements AutoCloseable {
    /** Begins the name of the folder of each agent of this JVM, which is part of its run's id. */
    static final String FOLDER_START = "agent-" + ProcessHandle.current().pid() + "-";

    private static final Duration SOON = Duration.ofMinutes(4);

    /** The host of a rank, and its position there. */
    private record RankHost(
            int node, int localRank, int localSize, String host, String address, List<String> commandPrefix) {}

    private final int size;
    private final int nodeCount;
    private final List<RankHost> places;
    private final TransportKind transport;
    private final List<String> java;
    private final Path directory;
    private final Path socketPath;
    private final ServerSocketChannel server;
    private final StoreTable store = new StoreTable(System::nanoTime);
    private final Map<Integer, SocketChannel> connections = new ConcurrentHashMap<>();
    private final Map<Long, Consumer<Bytes>> recordQueries = new ConcurrentHashMap<>();
    private final AtomicLong nextQuestion = new AtomicLong();
    private final Map<Integer, Peer> joined = new TreeMap<>();
    private final List<Process> processes = new ArrayList<>();
    private final Map<String, String> variables = new HashMap<>();
    private int timeoutSeconds = 60;
    private volatile boolean silent;

    TestAgent(int size) throws IOException {
        this(size, TransportKind.AUTO);
    }

    TestAgent(int size, TransportKind transport) throws IOException {
        this(
                IntStream.range(0, size)
                        .mapToObj(rank -> new RankHost(0, rank, size, "testhost", "127.0.0.1", List.of()))
                        .toList(),
                1,
                transport,
                WorkerClasses.command());
    }

    /** Ranks on nodes that share this machine, as many on each as {@code nodeSizes} says. */
    TestAgent(List<Integer> nodeSizes) throws IOException {
        this(nodeSizes, WorkerClasses.command());
    }

    /** The same with processes that start otherwise than all others do. */
    TestAgent(List<Integer> nodeSizes, List<String> java) throws IOException {
        this(places(nodeSizes, _ -> "127.0.0.1", _ -> List.of()), nodeSizes.size(), TransportKind.AUTO, java);
    }

    /** Ranks on hosts of their own, as many on each as {@code nodeSizes} says. */
    TestAgent(List<Integer> nodeSizes, NetworkHosts hosts, TransportKind transport) throws IOException {
        this(places(nodeSizes, hosts::address, hosts::command), nodeSizes.size(), transport, WorkerClasses.command());
    }

    private TestAgent(List<RankHost> places, int nodeCount, TransportKind transport, List<String> java)
            throws IOException {
        this.size = places.size();
        this.nodeCount = nodeCount;
        this.places = places;
        this.transport = transport;
        this.java = java;
        this.directory = Files.createTempDirectory(FOLDER_START);
        this.socketPath = directory.resolve("agent.sock");
        this.server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socketPath));
        Thread.ofPlatform().daemon().name("test-agent").start(this::accept);
    }

    /** As the workers know it. */
    String runId() {
        return "test-" + directory.getFileName();
    }

    /** The folder where workers' output and error records go: {@code rank-0.out}, {@code rank-0.json}. */
    Path directory() {
        return directory;
    }

    /** The file of the dump of a rank's flight recorder. */
    Path logFolder(int rank) {
        return directory.resolve("rank-" + rank);
    }

    /** A variable for processes that are started from now on. */
    void setVariable(String name, String value) {
        variables.put(name, value);
    }

    /** For processes that are started from now on. */
    void setTimeoutSeconds(int seconds) {
        timeoutSeconds = seconds;
    }

    /** Starts every rank on {@code mainClass} through WorkerMain. */
    List<Process> start(Class<?> mainClass, List<String> jvmOptions, String... args) throws IOException {
        for (int rank = 0; rank < size; rank++) {
            Process process = startRank(rank, mainClass, jvmOptions, args);
            int exited = rank;
            Thread.ofPlatform().daemon().name("reaper-" + rank).start(() -> reap(exited, process));
            processes.add(process);
        }
        return processes;
    }

    /** Sets a key that workers wait for. */
    void set(String key) {
        store.submit(-1, new StoreCommand.Set(key, Bytes.ofUtf8("x")), _ -> {});
    }

    /** From now on requests get no answer, and departures are not reported, as while the launcher is stopped. */
    void standStill() {
        silent = true;
    }

    void abort(String cause) {
        broadcast(new Frame.Abort(cause), -1);
    }

    /** Ends all connections, as the death of an agent does. */
    void hangUp() throws IOException {
        for (SocketChannel connection : connections.values()) {
            connection.close();
        }
    }

    String output(int rank) throws IOException {
        return Files.readString(directory.resolve("rank-" + rank + ".out"));
    }

    /** Waits until a rank has written {@code text}. */
    void awaitOutput(int rank, String text) throws IOException, InterruptedException {
        await("rank " + rank + " writes: " + text, () -> hasWritten(rank, text));
    }

    boolean hasWritten(int rank, String text) {
        try {
            return output(rank).contains(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(end);
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    static int exitCode(Process process) throws InterruptedException {
        assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS))
                .as("process ends")
                .isTrue();
        return process.exitValue();
    }

    @Override
    public void close() throws IOException {
        for (Process process : processes) {
            process.destroyForcibly().onExit().join();
        }
        server.close();
        hangUp();
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        }
    }

    private static List<RankHost> places(
            List<Integer> nodeSizes, IntFunction<String> address, IntFunction<List<String>> commandPrefix) {
        List<RankHost> places = new ArrayList<>();
        for (int node = 0; node < nodeSizes.size(); node++) {
            for (int localRank = 0; localRank < nodeSizes.get(node); localRank++) {
                places.add(new RankHost(
                        node,
                        localRank,
                        nodeSizes.get(node),
                        "testhost" + node,
                        address.apply(node),
                        commandPrefix.apply(node)));
            }
        }
        return places;
    }

    private Process startRank(int rank, Class<?> mainClass, List<String> jvmOptions, String... args)
            throws IOException {
        RankHost place = places.get(rank);
        List<String> command = new ArrayList<>(place.commandPrefix());
        command.addAll(java);
        command.addAll(jvmOptions);
        command.addAll(List.of("io.jrun.comm.worker.WorkerMain", mainClass.getName()));
        command.addAll(List.of(args));
        Files.createDirectories(logFolder(rank));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(directory.resolve("rank-" + rank + ".out").toFile());
        Map<String, String> env = builder.environment();
        env.put("RANK", Integer.toString(rank));
        env.put("LOCAL_RANK", Integer.toString(place.localRank()));
        env.put("WORLD_SIZE", Integer.toString(size));
        env.put("LOCAL_WORLD_SIZE", Integer.toString(place.localSize()));
        env.put("GROUP_RANK", Integer.toString(place.node()));
        env.put("GROUP_WORLD_SIZE", Integer.toString(nodeCount));
        // As the agent of a node says; these nodes share a machine.
        int nodeCores = Math.max(1, Runtime.getRuntime().availableProcessors() / nodeCount);
        env.put("JRUN_NODE_CORES", Integer.toString(nodeCores));
        env.put("TORCHELASTIC_RESTART_COUNT", "0");
        env.put("JRUN_RUN_ID", runId());
        env.put("JRUN_ROUND", "0");
        env.put("JRUN_AGENT_SOCKET", socketPath.toString());
        env.put("JRUN_HOST", place.host());
        env.put("JRUN_TIMEOUT_SECONDS", Integer.toString(timeoutSeconds));
        env.put("JRUN_TRANSPORT", transport.name());
        env.put("JRUN_LOG_DIR", logFolder(rank).toString());
        env.put("JRUN_ERROR_FILE", directory.resolve("rank-" + rank + ".json").toString());
        env.putAll(variables);
        return builder.start();
    }

    private void reap(int rank, Process process) {
        int code = process.onExit().join().exitValue();
        if (code != 0) {
            broadcast(new Frame.RankLeft(rank, "was killed (exit code " + code + ")"), rank);
        }
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel connection = server.accept();
                Thread.ofPlatform().daemon().name("test-agent-worker").start(() -> serve(connection));
            }
        } catch (IOException e) {
            // The server was closed: the test is over.
            return;
        }
    }

    private void serve(SocketChannel connection) {
        try (DataInputStream in = new DataInputStream(Channels.newInputStream(connection))) {
            Frame.Hello hello = (Frame.Hello) FrameCodec.read(in);
            if (connections.putIfAbsent(hello.rank(), connection) != null) {
                send(connection, new Frame.Refused("rank " + hello.rank() + " has joined before"));
                return;
            }
            while (true) {
                handle(hello, FrameCodec.read(in), connection);
            }
        } catch (IOException e) {
            // The worker has ended. Its exit code tells the cause.
            return;
        }
    }

    private void handle(Frame.Hello hello, Frame frame, SocketChannel connection) {
        if (silent) {
            return;
        }
        switch (frame) {
            case Frame.Join join -> join(hello, join);
            case Frame.StoreRequest request ->
                store.submit(request.id(), request.command(), reply -> send(connection, reply));
            case Frame.Locate(long id, int rank, String group, long _) -> {
                long question = nextQuestion.getAndIncrement();
                recordQueries.put(question, record -> send(connection, new Frame.Location(id, rank, record)));
                send(Objects.requireNonNull(connections.get(rank)), new Frame.RecordRequest(question, group));
            }
            case Frame.RecordReply(long id, Bytes record) ->
                Objects.requireNonNull(recordQueries.remove(id)).accept(record);
            case Frame.Leaving(String how, List<GroupRecord> _) ->
                broadcast(new Frame.RankLeft(hello.rank(), how), hello.rank());
            case Frame.Alive _,
                    Frame.Waits _,
                    Frame.Metrics _,
                    Frame.MeshPlace _ -> {} // The test agent ignores these frames.
            case Frame.Hello _, Frame.Elastic _, Frame.Parked _, Frame.Forwarded _, Frame.FromAgent _ ->
                throw new IllegalStateException("unexpected " + frame);
        }
    }

    private synchronized void join(Frame.Hello hello, Frame.Join join) {
        int rank = hello.rank();
        RankHost place = places.get(rank);
        joined.put(
                rank,
                new Peer(
                        rank,
                        place.node(),
                        place.localRank(),
                        place.host(),
                        place.address(),
                        join.tcpPort(),
                        hello.identity()));
        if (joined.size() == size) {
            broadcast(new Frame.PeerTable(0, Bytes.ofUtf8("secret"), List.copyOf(joined.values())), -1);
        }
    }

    private void broadcast(Frame frame, int exceptRank) {
        if (silent) {
            return;
        }
        connections.forEach((rank, connection) -> {
            if (rank != exceptRank) {
                send(connection, frame);
            }
        });
    }

    private static void send(SocketChannel connection, Frame frame) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(FrameCodec.encode(frame));
            synchronized (connection) {
                while (bytes.hasRemaining()) {
                    connection.write(bytes);
                }
            }
        } catch (IOException e) {
            // The worker has ended meanwhile.
            return;
        }
    }
}

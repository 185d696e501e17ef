package io.jrun.comm.tcp;

import io.jrun.comm.tcp.Fault.Direction;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/** Stands before a rank's listener and passes its connections on, each with faults of its own. */
public final class FaultyProxy implements AutoCloseable {
    /** Names of all its threads begin so. */
    static final String THREADS = "faulty-proxy";

    private static final int MAX_DELAY_MILLIS = 10;
    private static final int MAX_PIECE = 7;
    private static final int MAX_GARBAGE = 64;

    private final ServerSocket server;
    private final int targetPort;
    private final IntFunction<Map<Direction, Fault>> faults;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger struckFrames = new AtomicInteger();
    private final List<AtomicLong> passed = new CopyOnWriteArrayList<>();
    private volatile boolean closed;

    /**
     * Begins to accept.
     *
     * @param faults by the number of the connection
     */
    public FaultyProxy(int targetPort, IntFunction<Map<Direction, Fault>> faults) throws IOException {
        this.targetPort = targetPort;
        this.faults = faults;
        this.server = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    /** The port that the other ranks get. */
    public int port() {
        return server.getLocalPort();
    }

    /** The number of frames with a fault. */
    public int struckFrames() {
        return struckFrames.get();
    }

    /** Bytes that each connection has carried, both ways together, but for those with faults of frames. */
    List<Long> passed() {
        return passed.stream().map(AtomicLong::get).toList();
    }

    @Override
    public void close() throws IOException {
        closed = true;
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    private static void start(Runnable body) {
        Thread.ofPlatform().daemon().name(THREADS).start(body);
    }

    private void accept() {
        try {
            for (int number = 0; !closed; number++) {
                admit(server.accept(), faults.apply(number));
            }
        } catch (IOException e) {
            assertClosed(e);
        }
        sockets.forEach(FaultyProxy::end);
    }

    private void assertClosed(IOException e) {
        if (!closed) {
            throw new UncheckedIOException(e);
        }
    }

    private void admit(Socket caller, Map<Direction, Fault> mine) {
        sockets.add(caller);
        AtomicLong bytes = new AtomicLong();
        passed.add(bytes);
        try {
            Socket called = new Socket(InetAddress.getLoopbackAddress(), targetPort);
            sockets.add(called);
            pass(caller, called, Direction.TO_CALLED, mine, bytes);
            pass(called, caller, Direction.TO_CALLER, mine, bytes);
        } catch (IOException e) {
            // The rank has left: the connection is refused.
            end(caller);
        }
    }

    private static void end(Socket socket) {
        try {
            socket.close();
        } catch (IOException _) {
            // It is gone either way.
        }
    }

    private void pass(Socket from, Socket to, Direction direction, Map<Direction, Fault> faults, AtomicLong bytes) {
        Fault fault = faults.getOrDefault(direction, Fault.NOTHING);
        start(() -> {
            try {
                if (fault.kind().isOfFrames()) {
                    Runnable onStrike = struckFrames::incrementAndGet;
                    new FrameStream(from.getInputStream(), to.getOutputStream(), fault, direction, onStrike).run();
                }
                new Stream(from, to, fault, bytes).run();
            } catch (IOException | InterruptedException _) {
                // As between two hosts: the end of one side ends the other side.
                end(from);
                end(to);
            }
        });
    }

    /** One direction of one connection. */
    private static final class Stream {
        private final Socket from;
        private final Socket to;
        private final Fault fault;
        private final Random random;
        private final AtomicLong bytes;
        private final InputStream in;
        private final OutputStream out;
        private final byte[] buffer = new byte[64 * 1024];
        private boolean isDiscarding;

        Stream(Socket from, Socket to, Fault fault, AtomicLong bytes) throws IOException {
            this.from = from;
            this.to = to;
            this.fault = fault;
            this.bytes = bytes;
            this.random = new Random(fault.seed());
            this.in = from.getInputStream();
            this.out = to.getOutputStream();
        }

        void run() throws IOException, InterruptedException {
            long passed = 0;
            while (true) {
                if (passed == fault.at()) {
                    passed += strike();
                }
                int length = in.read(buffer, 0, most(passed));
                if (length < 0) {
                    to.shutdownOutput();
                    return;
                }
                hold(passed);
                if (!isDiscarding) {
                    out.write(buffer, 0, length);
                }
                passed += length;
                bytes.addAndGet(length);
            }
        }

        private int most(long passed) {
            if (passed >= fault.at()) {
                return buffer.length;
            }
            int most = fault.kind() == Fault.Kind.TORN ? 1 + random.nextInt(MAX_PIECE) : buffer.length;
            return (int) Math.min(most, fault.at() - passed);
        }

        private void hold(long passed) throws InterruptedException {
            if (fault.kind() == Fault.Kind.DELAYED && passed < fault.at()) {
                TimeUnit.MILLISECONDS.sleep(random.nextInt(MAX_DELAY_MILLIS));
            }
        }

        /** The number of bytes that were taken from the stream. */
        private int strike() throws IOException {
            return switch (fault.kind()) {
                case NONE, DELAYED, TORN, DROPPED, DUPLICATED, REORDERED, TRUNCATED, CUT -> 0;
                case RESET -> {
                    for (Socket socket : new Socket[] {from, to}) {
                        socket.setSoLinger(true, 0);
                        socket.close();
                    }
                    throw new IOException("reset");
                }
                case HALF_CLOSED -> {
                    to.shutdownOutput();
                    isDiscarding = true;
                    yield 0;
                }
                case SILENT -> {
                    isDiscarding = true;
                    yield 0;
                }
                case FLIPPED -> {
                    byte[] one = in.readNBytes(1);
                    if (one.length == 1) {
                        one[0] ^= (byte) (1 << random.nextInt(Byte.SIZE));
                    }
                    out.write(one);
                    yield one.length;
                }
                case GARBAGE -> {
                    byte[] garbage = new byte[1 + random.nextInt(MAX_GARBAGE)];
                    random.nextBytes(garbage);
                    out.write(garbage);
                    yield 0;
                }
                case OVERSIZED -> {
                    byte[] length = in.readNBytes(Integer.BYTES);
                    if (length.length > 0) {
                        length[0] = Byte.MAX_VALUE;
                    }
                    out.write(length);
                    yield length.length;
                }
            };
        }
    }
}

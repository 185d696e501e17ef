package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.OpKind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The protection of connections inside TLS. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EncryptionTest {
    private static final int COUNT = 300_000;
    private static final byte[] MARK = "this must not be read on the way".getBytes(StandardCharsets.US_ASCII);

    @Test
    void sumsAreRightAndNothingOfThemIsReadableOnTheWay() throws Exception {
        try (EavesdroppingProxy proxy = new EavesdroppingProxy();
                TcpRanks world = TcpRanks.startEncrypted(3, proxy::before)) {
            allReduce(world);
            broadcastMark(world);
            assertThat(proxy.seen()).isGreaterThan(4L * COUNT);
            assertThat(proxy.hasSeenMark()).isFalse();
        }
    }

    /** Without this, the test above could not fail. */
    @Test
    void withoutEncryptionTheSameIsReadable() throws Exception {
        try (EavesdroppingProxy proxy = new EavesdroppingProxy();
                TcpRanks world = TcpRanks.start(3, proxy::before)) {
            broadcastMark(world);
            assertThat(proxy.hasSeenMark()).isTrue();
        }
    }

    /** He ends TLS on both sides and passes everything on, the proofs of knowing the secret included. */
    @Test
    void aManInTheMiddleIsRefused() throws Exception {
        try (ManInTheMiddle man = new ManInTheMiddle();
                TcpRanks world = TcpRanks.startEncrypted(2, man::before)) {
            List<Optional<Throwable>> outcomes = world.outcomes(rank -> {
                MemorySegment data = MemorySegment.ofArray(new long[1]);
                rank.backend().run(Calls.allReduce(0, data, DataType.I64, ReduceOp.SUM));
            });
            assertThat(outcomes)
                    .allSatisfy(outcome -> assertThat(outcome)
                            .hasValueSatisfying(failure -> assertThat(failure)
                                    .isInstanceOfSatisfying(
                                            CommException.class,
                                            cause -> assertThat(cause.code()).isEqualTo(ErrorCode.PEER_LOST))));
            assertThat(man.hasBeenUsed()).isTrue();
            assertThat(outcomes.toString()).contains("does not know the job's secret");
        }
    }

    @Test
    void aCallerWithoutTlsIsRefused() throws Exception {
        try (TcpRanks world = TcpRanks.startEncrypted(2, (_, port) -> port);
                Socket stranger = new Socket(
                        InetAddress.getLoopbackAddress(), world.peer(1).tcpPort())) {
            stranger.setSoTimeout(20_000);
            stranger.getOutputStream().write(new byte[HandshakeRequest.BYTES]);
            byte[] answer = stranger.getInputStream().readAllBytes();
            assertThat(answer).hasSizeLessThan(100); // at most TLS's alert
            assertThat(world.log()).singleElement().asString().contains("the TLS handshake failed");
            allReduce(world);
        }
    }

    private static ServerSocketChannel listen() {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return listener;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void allReduce(TcpRanks world) throws Exception {
        world.run(rank -> {
            long[] data = new long[COUNT];
            for (int i = 0; i < COUNT; i++) {
                data[i] = i * (rank.rank() + 1L);
            }
            rank.backend().run(Calls.allReduce(0, MemorySegment.ofArray(data), DataType.I64, ReduceOp.SUM));
            long factor = rank.size() * (rank.size() + 1L) / 2;
            for (int i = 0; i < COUNT; i++) {
                assertThat(data[i]).isEqualTo(i * factor);
            }
        });
    }

    private static void broadcastMark(TcpRanks world) throws Exception {
        world.run(rank -> {
            MemorySegment data = MemorySegment.ofArray(rank.rank() == 0 ? MARK.clone() : new byte[MARK.length]);
            rank.backend().run(Calls.of(1, OpKind.BROADCAST, DataType.U8, MARK.length, 0, data, data));
            assertThat(data.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(MARK);
        });
    }

    /** Forwards all bytes unchanged, and searches for the mark in the bytes. */
    private static final class EavesdroppingProxy implements AutoCloseable {
        private final List<ServerSocketChannel> listeners = new ArrayList<>();
        private final List<SocketChannel> channels = new ArrayList<>();
        private long seen;
        private boolean marked;

        int before(int rank, int port) {
            ServerSocketChannel listener = listen();
            listeners.add(listener);
            Thread.ofVirtual().start(() -> serve(listener, port));
            return listener.socket().getLocalPort();
        }

        private void serve(ServerSocketChannel listener, int port) {
            try {
                while (true) {
                    Socket caller = keep(listener.accept());
                    Socket called =
                            keep(SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
                    Thread.ofPlatform().daemon().start(() -> pass(caller, called));
                    Thread.ofPlatform().daemon().start(() -> pass(called, caller));
                }
            } catch (IOException _) {
                // The test is over.
            }
        }

        private synchronized Socket keep(SocketChannel channel) {
            channels.add(channel);
            return channel.socket();
        }

        private void pass(Socket from, Socket to) {
            byte[] buffer = new byte[1 << 16];
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                    look(buffer, length);
                    out.write(buffer, 0, length);
                }
                to.shutdownOutput();
            } catch (IOException _) {
                // The test is over.
            }
        }

        private synchronized void look(byte[] bytes, int length) {
            seen += length;
            marked |= new String(bytes, 0, length, StandardCharsets.ISO_8859_1)
                    .contains(new String(MARK, StandardCharsets.ISO_8859_1));
        }

        synchronized long seen() {
            return seen;
        }

        synchronized boolean hasSeenMark() {
            return marked;
        }

        @Override
        public synchronized void close() throws IOException {
            for (ServerSocketChannel listener : listeners) {
                listener.close();
            }
            for (SocketChannel channel : channels) {
                channel.close();
            }
        }
    }

    /** Speaks TLS with caller and called alike, with keys of his own, and hands the bytes inside over. */
    private static final class ManInTheMiddle implements AutoCloseable {
        private final Tls keys = Tls.create();
        private final List<ServerSocketChannel> listeners = new ArrayList<>();
        private volatile boolean used;
        private volatile boolean over;

        int before(int rank, int port) {
            ServerSocketChannel listener = listen();
            listeners.add(listener);
            Thread.ofPlatform().daemon().start(() -> serve(listener, port));
            return listener.socket().getLocalPort();
        }

        private void serve(ServerSocketChannel listener, int port) {
            try {
                while (true) {
                    SocketChannel caller = listener.accept();
                    Thread.ofPlatform().daemon().start(() -> sit(caller, port));
                }
            } catch (IOException _) {
                // The test is over.
            }
        }

        private void sit(SocketChannel caller, int port) {
            try (caller;
                    SocketChannel called =
                            SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
                caller.configureBlocking(false);
                called.configureBlocking(false);
                Connection left = new TlsConnection(caller, keys.engine(false));
                Connection right = new TlsConnection(called, keys.engine(true));
                ByteBuffer there = ByteBuffer.allocate(1 << 14);
                ByteBuffer back = ByteBuffer.allocate(1 << 14);
                while (!over && pass(left, right, there) && pass(right, left, back)) {
                    Thread.onSpinWait();
                }
            } catch (IOException _) {
                // One of them has turned him away.
            }
        }

        private boolean pass(Connection from, Connection to, ByteBuffer buffer) throws IOException {
            long read = from.read(buffer);
            used |= read > 0;
            buffer.flip();
            long _ = to.write(buffer);
            buffer.compact();
            return read >= 0;
        }

        boolean hasBeenUsed() {
            return used;
        }

        @Override
        public void close() throws IOException {
            over = true;
            for (ServerSocketChannel listener : listeners) {
                listener.close();
            }
        }
    }
}

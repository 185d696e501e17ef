package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TlsConnectionTest {
    private static final int BYTES = 5_000_000;

    private record Ends(Connection caller, Connection called) implements AutoCloseable {
        static Ends open(Tls callers, Tls calleds) throws IOException {
            try (ServerSocketChannel listener = ServerSocketChannel.open()) {
                listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                SocketChannel caller = SocketChannel.open(listener.getLocalAddress());
                SocketChannel called = listener.accept();
                caller.configureBlocking(false);
                called.configureBlocking(false);
                return new Ends(
                        new TlsConnection(caller, callers.engine(true)),
                        new TlsConnection(called, calleds.engine(false)));
            }
        }

        @Override
        public void close() throws IOException {
            caller.socket().close();
            called.socket().close();
        }
    }

    @Test
    void bytesArriveInOrderInBothDirectionsAtOnce() throws IOException {
        try (Ends ends = Ends.open(Tls.create(), Tls.create())) {
            Course there = new Course(ends.caller(), ends.called(), 1);
            Course back = new Course(ends.called(), ends.caller(), 2);
            while (!there.isOver() || !back.isOver()) {
                there.move();
                back.move();
            }
            assertThat(there.received).isEqualTo(there.sent);
            assertThat(back.received).isEqualTo(back.sent);
            assertThat(ends.caller().binding())
                    .hasSize(32)
                    .isEqualTo(ends.called().binding());
        }
    }

    @Test
    void everyConnectionHasItsOwnBinding() throws IOException {
        Tls callers = Tls.create();
        Tls calleds = Tls.create();
        try (Ends one = Ends.open(callers, calleds);
                Ends other = Ends.open(callers, calleds)) {
            for (Ends ends : new Ends[] {one, other}) {
                Course course = new Course(ends.caller(), ends.called(), 3);
                while (!course.isOver()) {
                    course.move();
                }
            }
            assertThat(one.caller().binding()).isNotEqualTo(other.caller().binding());
        }
    }

    @Test
    void aPeerThatSpeaksNoTlsIsRefused() throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel caller = SocketChannel.open(listener.getLocalAddress());
                    SocketChannel called = listener.accept()) {
                called.write(ByteBuffer.wrap("I am no TLS server at all".getBytes(StandardCharsets.US_ASCII)));
                caller.configureBlocking(false);
                Connection connection = new TlsConnection(caller, Tls.create().engine(true));
                assertThatThrownBy(() -> {
                            while (connection.read(ByteBuffer.allocate(1)) == 0) {
                                Thread.onSpinWait();
                            }
                        })
                        .isInstanceOf(IOException.class);
            }
        }
    }

    /** Random bytes from one end to the other, in pieces of every size, from and into native and heap memory. */
    private static final class Course {
        private final Connection from;
        private final Connection to;
        private final SplittableRandom random;
        private final byte[] sent = new byte[BYTES];
        private final byte[] received = new byte[BYTES];
        private ByteBuffer[] outgoing = {};
        private int handed;
        private int arrived;

        Course(Connection from, Connection to, long seed) {
            this.from = from;
            this.to = to;
            this.random = new SplittableRandom(seed);
            random.nextBytes(sent);
        }

        boolean isOver() {
            return arrived == BYTES && !Arrays.stream(outgoing).anyMatch(ByteBuffer::hasRemaining);
        }

        void move() throws IOException {
            if (!Arrays.stream(outgoing).anyMatch(ByteBuffer::hasRemaining) && handed < BYTES) {
                outgoing = new ByteBuffer[] {next(60), next(200_000)};
            }
            from.write(outgoing);
            ByteBuffer[] into = {buffer(1 + random.nextInt(60)), buffer(1 + random.nextInt(200_000))};
            long read = to.read(into);
            for (ByteBuffer part : into) {
                part.flip();
                read -= part.remaining();
                int length = part.remaining();
                part.get(received, arrived, length);
                arrived += length;
            }
            assertThat(read).isZero();
        }

        private ByteBuffer next(int most) {
            int length = Math.min(random.nextInt(most), BYTES - handed);
            ByteBuffer buffer = buffer(length).put(sent, handed, length).flip();
            handed += length;
            return buffer;
        }

        private ByteBuffer buffer(int bytes) {
            return random.nextBoolean() ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
        }
    }
}

package io.jrun.comm.tcp;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection inside TLS 1.3. The first read or write begins the TLS handshake. Records are decrypted directly into
 * the caller's memory if a whole record fits, and encrypted directly from the caller's memory.
 *
 * <p>Source: RFC 8446; the binding is the tls-exporter of RFC 9266.
 */
final class TlsConnection implements Connection {
    /** The number of records for one system call, small enough for the second-level cache. */
    private static final int RECORDS = 8;

    private static final int BINDING_BYTES = 32;
    private static final ByteBuffer[] NOTHING = {ByteBuffer.allocate(0)};

    private final SocketChannel socket;
    private final SSLEngine engine;
    /** Encrypted bytes to write: ready for draining. */
    private final ByteBuffer outgoing;
    /** Encrypted bytes received: ready for filling. */
    private final ByteBuffer incoming;
    /** Decrypted bytes beyond the room of the reader: ready for draining. */
    private final ByteBuffer decrypted;
    /**
     * Number of plain bytes inside {@link #outgoing}. The writer counts them as written when the kernel has all of
     * them.
     */
    private long pending;

    private boolean ended;
    /**
     * Whether the first handshake is over. Later handshake messages go out before the next written bytes (RFC 8446,
     * 4.6.3). Reads do not wait for them, because the peer may have gone after its last write.
     */
    private boolean established;

    /** @param engine fresh engine; every read and write advances its handshake until the handshake is over */
    TlsConnection(SocketChannel socket, SSLEngine engine) throws SSLException {
        this.socket = socket;
        this.engine = engine;
        engine.beginHandshake();
        int record = engine.getSession().getPacketBufferSize();
        this.outgoing = ByteBuffer.allocateDirect(RECORDS * record).flip();
        this.incoming = ByteBuffer.allocateDirect(RECORDS * record);
        this.decrypted = ByteBuffer.allocateDirect(engine.getSession().getApplicationBufferSize())
                .flip();
    }

    @Override
    public SocketChannel socket() {
        return socket;
    }

    @Override
    public long read(ByteBuffer... into) throws IOException {
        if (!established && !isReady()) {
            return 0;
        }
        long read = 0;
        for (ByteBuffer target : into) {
            while (target.hasRemaining()) {
                int moved = readOne(target);
                if (moved <= 0) {
                    return moved < 0 && read == 0 ? -1 : read;
                }
                read += moved;
            }
        }
        return read;
    }

    /**
     * Reads plain bytes into {@code target}. Returns a positive number, 0 if no bytes have arrived, or -1 at the end.
     */
    private int readOne(ByteBuffer target) throws IOException {
        while (true) {
            if (decrypted.hasRemaining()) {
                int length = Math.min(decrypted.remaining(), target.remaining());
                target.put(decrypted.slice(decrypted.position(), length));
                decrypted.position(decrypted.position() + length);
                return length;
            }
            int before = target.position();
            boolean direct = target.remaining() >= engine.getSession().getApplicationBufferSize();
            boolean progress = unwrap(direct ? target : null);
            if (target.position() > before) {
                return target.position() - before;
            }
            if (!progress) {
                return ended ? -1 : 0;
            }
        }
    }

    /**
     * Decrypts one record into {@link #decrypted} or {@code target}, and receives bytes if needed. Returns false if
     * there is no record.
     */
    private boolean unwrap(@Nullable ByteBuffer target) throws IOException {
        while (!ended) {
            incoming.flip();
            SSLEngineResult result;
            try {
                result = target == null ? unwrapAside() : engine.unwrap(incoming, target);
            } finally {
                incoming.compact();
            }
            switch (result.getStatus()) {
                case OK -> {
                    runTasks();
                    return result.bytesConsumed() > 0 || result.bytesProduced() > 0;
                }
                case CLOSED -> ended = true;
                case BUFFER_OVERFLOW ->
                    throw new HandshakeRefusedException("the peer sent a TLS record above the agreed size");
                case BUFFER_UNDERFLOW -> {
                    int received = socket.read(incoming);
                    if (received < 0) {
                        ended = true;
                    } else if (received == 0) {
                        return false;
                    }
                }
            }
        }
        return false;
    }

    private SSLEngineResult unwrapAside() throws SSLException {
        decrypted.clear();
        try {
            return engine.unwrap(incoming, decrypted);
        } finally {
            decrypted.flip();
        }
    }

    @Override
    public long write(ByteBuffer... from) throws IOException {
        if (!isReady() || !flush()) {
            return 0;
        }
        long written = 0;
        while (true) {
            written += acknowledge(from);
            if (!hasRemaining(from)) {
                return written;
            }
            if (!isReady()) { // A key update may be due before the next bytes.
                return written;
            }
            encrypt(from);
            if (!flush()) {
                return written;
            }
        }
    }

    /** Fills {@link #outgoing} with records. The plain bytes are not consumed yet. */
    private void encrypt(ByteBuffer[] from) throws SSLException {
        ByteBuffer[] views = new ByteBuffer[from.length];
        for (int i = 0; i < from.length; i++) {
            views[i] = from[i].duplicate();
        }
        outgoing.clear();
        while (hasRemaining(views)
                && outgoing.remaining() >= engine.getSession().getPacketBufferSize()
                && engine.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING) {
            SSLEngineResult result = engine.wrap(views, outgoing);
            if (result.getStatus() != SSLEngineResult.Status.OK) {
                throw new SSLException("cannot encrypt: " + result.getStatus());
            }
            pending += result.bytesConsumed();
        }
        outgoing.flip();
    }

    /** Consumes the plain bytes of the records that the kernel has taken. */
    private long acknowledge(ByteBuffer[] from) {
        long gone = pending;
        pending = 0;
        long left = gone;
        for (ByteBuffer buffer : from) {
            int length = (int) Math.min(left, buffer.remaining());
            buffer.position(buffer.position() + length);
            left -= length;
        }
        return gone;
    }

    private static boolean hasRemaining(ByteBuffer[] buffers) {
        for (ByteBuffer buffer : buffers) {
            if (buffer.hasRemaining()) {
                return true;
            }
        }
        return false;
    }

    private boolean flush() throws IOException {
        while (outgoing.hasRemaining()) {
            if (socket.write(outgoing) == 0) {
                return false;
            }
        }
        return true;
    }

    /** Advances the TLS handshake as far as possible without waiting. Returns whether the handshake is over. */
    private boolean isReady() throws IOException {
        while (true) {
            switch (engine.getHandshakeStatus()) {
                case NOT_HANDSHAKING, FINISHED -> {
                    established = true;
                    boolean _ = flush();
                    return true;
                }
                case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
                    if (!flush() || !unwrap(null)) {
                        if (ended) {
                            throw new EOFException("the peer closed the connection during the TLS handshake");
                        }
                        return false;
                    }
                }
                case NEED_TASK -> runTasks();
                case NEED_WRAP -> {
                    if (!flush()) {
                        return false;
                    }
                    outgoing.clear();
                    engine.wrap(NOTHING, outgoing);
                    outgoing.flip();
                }
            }
        }
    }

    private void runTasks() {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    @Override
    public int interest(int wanted) {
        if (outgoing.hasRemaining()) {
            return wanted | SelectionKey.OP_WRITE;
        }
        return switch (engine.getHandshakeStatus()) {
            case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> SelectionKey.OP_READ;
            default -> wanted;
        };
    }

    @Override
    public byte[] binding() throws IOException {
        ExtendedSSLSession session = (ExtendedSSLSession) engine.getSession();
        return session.exportKeyingMaterialData("EXPORTER-Channel-Binding", new byte[0], BINDING_BYTES);
    }
}

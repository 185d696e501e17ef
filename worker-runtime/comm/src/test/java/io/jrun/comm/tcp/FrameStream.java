package io.jrun.comm.tcp;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/**
 * One direction of a connection with one faulty frame. All other frames pass unchanged, and so do connections that
 * carry only a notice.
 */
final class FrameStream {
    private static final int LENGTH_AT = 48;
    private static final byte[] NONE = new byte[0];

    private final InputStream in;
    private final OutputStream out;
    private final Fault fault;
    private final Fault.Direction direction;
    private final Runnable onStrike;

    FrameStream(InputStream in, OutputStream out, Fault fault, Fault.Direction direction, Runnable onStrike) {
        this.in = in;
        this.out = out;
        this.fault = fault;
        this.direction = direction;
        this.onStrike = onStrike;
    }

    /** Passes the handshake and the frames before the one that is meant, and strikes that, if there is one. */
    void run() throws IOException {
        try {
            pass(direction.lengthAt());
            byte[] length = exactly(Integer.BYTES);
            out.write(length);
            if (ByteBuffer.wrap(length).getInt() != 0) {
                return;
            }
            pass(SecretProof.BYTES);
            for (long frame = 0; frame < fault.at(); frame++) {
                out.write(frame());
            }
            byte[] meant = frame();
            onStrike.run();
            strike(meant);
        } catch (EOFException _) {
            // The stream has ended before.
        }
    }

    private void strike(byte[] frame) throws IOException {
        switch (fault.kind()) {
            case DROPPED -> {}
            case DUPLICATED -> {
                out.write(frame);
                out.write(frame);
            }
            case REORDERED -> {
                byte[] next = frame();
                out.write(next);
                out.write(frame);
            }
            case TRUNCATED -> {
                int payload = (frame.length - FrameHeader.BYTES) / 2;
                ByteBuffer.wrap(frame).putLong(LENGTH_AT, payload);
                out.write(frame, 0, FrameHeader.BYTES + payload);
            }
            case CUT -> {
                out.write(frame, 0, frame.length / 2);
                throw new IOException("cut");
            }
            default -> throw new IllegalArgumentException(fault.kind() + " strikes no frame");
        }
    }

    private byte[] frame() throws IOException {
        byte[] header = exactly(FrameHeader.BYTES);
        byte[] payload = exactly((int) ByteBuffer.wrap(header).getLong(LENGTH_AT));
        return ByteBuffer.allocate(header.length + payload.length)
                .put(header)
                .put(payload)
                .array();
    }

    /** At once: the other side may be waited for in between. */
    private void pass(long bytes) throws IOException {
        for (long i = 0; i < bytes; i++) {
            out.write(exactly(1));
        }
    }

    private byte[] exactly(int bytes) throws IOException {
        byte[] read = bytes == 0 ? NONE : in.readNBytes(bytes);
        if (read.length < bytes) {
            out.write(read);
            throw new EOFException();
        }
        return read;
    }
}

package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The cause of a group's failure, as sent from one rank to another.
 *
 * @param code kind of failure
 * @param message message of the first failure
 */
record FailureNotice(ErrorCode code, String message) {
    /**
     * The limit of a notice on the wire. A longer text is truncated. The receiver refuses longer notices, which bounds
     * its memory.
     */
    static final int MAX_BYTES = 4096;

    static FailureNotice of(CommException cause) {
        return new FailureNotice(cause.code(), String.valueOf(cause.getMessage()));
    }

    byte[] encode() {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(text.length, MAX_BYTES - 1);
        return ByteBuffer.allocate(1 + length)
                .put(WireEnum.code(code))
                .put(text, 0, length)
                .array();
    }

    static FailureNotice decode(byte[] bytes) throws HandshakeRefusedException {
        if (bytes.length == 0) {
            throw new HandshakeRefusedException("the notice is empty");
        }
        return new FailureNotice(
                WireEnum.constant(ErrorCode.values(), bytes[0], "error code"),
                new String(bytes, 1, bytes.length - 1, StandardCharsets.UTF_8));
    }

    CommException toException() {
        return new CommException(code, message);
    }
}

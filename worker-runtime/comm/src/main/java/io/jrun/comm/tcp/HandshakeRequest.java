package io.jrun.comm.tcp;

import java.nio.ByteBuffer;

/**
 * The first message of a connection: caller, called rank, channel, and the caller's fresh nonce. The message contains
 * no secret. Both proofs cover every byte of the message.
 *
 * @param purpose purpose of the connection
 * @param from world rank of the caller
 * @param to world rank of the called side
 * @param channel {@link ChannelId}
 */
record HandshakeRequest(Purpose purpose, int round, int from, int to, long channel, Nonce nonce) {
    /** Bytes on the wire. */
    static final int BYTES = 25 + Nonce.BYTES;

    private static final int MAGIC = 0x4a524e31;

    /** The purpose of a connection. The wire carries the position of the constant: add constants at the end. */
    enum Purpose {
        /** The connection carries frames until one side closes it. */
        DATA,
        /** The connection carries the cause of the sender's failure, and is closed after the reply. */
        NOTICE
    }

    byte[] encode() {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES);
        bytes.putInt(MAGIC)
                .put(WireEnum.code(purpose))
                .putInt(round)
                .putInt(from)
                .putInt(to);
        bytes.putLong(channel).put(nonce.toArray());
        return bytes.array();
    }

    /**
     * Reads {@link #BYTES} bytes.
     *
     * @throws HandshakeRefusedException if the bytes are not a request of this protocol
     */
    static HandshakeRequest decode(ByteBuffer bytes) throws HandshakeRefusedException {
        if (bytes.getInt() != MAGIC) {
            throw new HandshakeRefusedException("the caller does not speak this protocol");
        }
        Purpose purpose = WireEnum.constant(Purpose.values(), bytes.get(), "purpose");
        int round = bytes.getInt();
        int from = bytes.getInt();
        int to = bytes.getInt();
        return new HandshakeRequest(purpose, round, from, to, bytes.getLong(), Nonce.read(bytes));
    }
}

package io.jrun.comm.tcp;

import java.nio.ByteBuffer;

/**
 * First message of a connection: who calls whom, about which lane, and the caller's fresh nonce. Nothing in it is secret;
 * both proofs cover every byte of it.
 *
 * @param purpose what the connection is for
 * @param from world rank of the caller
 * @param to world rank of the called
 * @param lane {@link ChannelId}
 */
record HandshakeRequest(Purpose purpose, int round, int from, int to, long lane, Nonce nonce) {
    /** Bytes on the wire. */
    static final int BYTES = 25 + Nonce.BYTES;

    private static final int MAGIC = 0x4a524e31;

    /** What a connection is for. The constant's place goes over the wire: add at the end. */
    enum Purpose {
        /** To carry frames until one side closes it. */
        DATA,
        /** To tell why the sender's group has failed; closed after the answer. */
        NOTICE
    }

    byte[] encode() {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES);
        bytes.putInt(MAGIC)
                .put(WireEnum.code(purpose))
                .putInt(round)
                .putInt(from)
                .putInt(to);
        bytes.putLong(lane).put(nonce.toArray());
        return bytes.array();
    }

    /**
     * Reads {@link #BYTES} bytes.
     *
     * @throws HandshakeRefusedException if they are none of ours
     */
    static HandshakeRequest decode(ByteBuffer bytes) throws HandshakeRefusedException {
        if (bytes.getInt() != MAGIC) {
            throw new HandshakeRefusedException("it does not speak this protocol");
        }
        Purpose purpose = WireEnum.constant(Purpose.values(), bytes.get(), "purpose");
        int round = bytes.getInt();
        int from = bytes.getInt();
        int to = bytes.getInt();
        return new HandshakeRequest(purpose, round, from, to, bytes.getLong(), Nonce.read(bytes));
    }
}

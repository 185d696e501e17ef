package io.jrun.comm.tcp;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import java.nio.ByteBuffer;

/**
 * The header of every transfer: round and channel, the fingerprint of the call, the sender, the transfer's position in
 * the call, and the length. The receiver of a collective's frame knows all values beforehand and compares them. The
 * receiver of a message learns tag, type and count from the header; the checksum shows a wrong bit.
 *
 * <pre>
 *  0 magic, xor a checksum of all other bytes  4 round  8 channel  16 sequence  24 kind, type, op, algorithm
 * 28 root  32 count  40 sender (group rank)  44 step  48 length  56 detail   (big endian)
 * </pre>
 *
 * @param root group rank; for messages, of the receiver
 * @param detail checksum of uneven blocks; for messages {@link Call#label}; else 0
 */
record FrameHeader(
        int round,
        long channel,
        long sequence,
        OpKind kind,
        DataType type,
        ReduceOp op,
        Algorithm algorithm,
        int root,
        long count,
        int sender,
        int step,
        long length,
        long detail) {
    static final int BYTES = 64;

    /** If every rank divides its data in its own way, only the lengths of the frames must agree. */
    private static final long OF_EACH_RANK = 1;

    private static final int MAGIC = 0x4a524631;

    /** Makes the header of {@code call}. Each frame sets its own sender, step and length. */
    static FrameHeader of(int round, long channel, Call call, Algorithm algorithm, int ownRank) {
        OpKind kind = call.kind().isMessage() ? OpKind.SEND : call.kind();
        int root = call.kind() == OpKind.RECV ? ownRank : call.root();
        return new FrameHeader(
                round,
                channel,
                call.sequence(),
                kind,
                call.type(),
                call.op(),
                algorithm,
                root,
                call.count(),
                ownRank,
                0,
                0,
                detail(call));
    }

    private static long detail(Call call) {
        if (call.kind().isMessage()) {
            return call.label();
        }
        return call.unevenIncoming() != null ? OF_EACH_RANK : Fingerprint.blocks(call);
    }

    FrameHeader withFrame(int newSender, int newStep, long newLength) {
        return new FrameHeader(
                round, channel, sequence, kind, type, op, algorithm, root, count, newSender, newStep, newLength,
                detail);
    }

    private FrameHeader withAlgorithm(Algorithm newAlgorithm) {
        return new FrameHeader(
                round, channel, sequence, kind, type, op, newAlgorithm, root, count, sender, step, length, detail);
    }

    /** Writes {@link #BYTES} bytes from position 0 and leaves the buffer ready for reading. */
    void encode(ByteBuffer target) {
        target.clear();
        target.putInt(MAGIC).putInt(round).putLong(channel).putLong(sequence);
        target.put(WireEnum.code(kind)).put(WireEnum.code(type));
        target.put(WireEnum.code(op)).put(WireEnum.code(algorithm));
        target.putInt(root).putLong(count);
        target.putLong(56, detail);
        encodeFrame(target, sender, step, length);
        target.flip();
    }

    /** Overwrites the fields that differ between the frames of one call. */
    static void encodeFrame(ByteBuffer target, int sender, int step, long length) {
        target.limit(BYTES).position(BYTES);
        target.putInt(40, sender).putInt(44, step).putLong(48, length);
        target.putInt(0, MAGIC ^ checksum(target));
    }

    /** Differs between headers that differ in one bit: each number is multiplied by an odd number only. */
    private static int checksum(ByteBuffer header) {
        int checksum = 0;
        for (int at = Integer.BYTES; at < BYTES; at += Integer.BYTES) {
            checksum = checksum * 31 + header.getInt(at);
        }
        return checksum;
    }

    /**
     * Reads {@link #BYTES} bytes from position 0.
     *
     * @throws HandshakeRefusedException if the bytes are not a header, or if a bit is wrong
     */
    static FrameHeader decode(ByteBuffer source) throws HandshakeRefusedException {
        if (source.getInt(0) != (MAGIC ^ checksum(source))) {
            throw new HandshakeRefusedException("the stream is out of step: a frame must begin here, but none does");
        }
        return new FrameHeader(
                source.getInt(4),
                source.getLong(8),
                source.getLong(16),
                WireEnum.constant(OpKind.values(), source.get(24), "operation"),
                WireEnum.constant(DataType.values(), source.get(25), "type"),
                WireEnum.constant(ReduceOp.values(), source.get(26), "reduction"),
                WireEnum.constant(Algorithm.values(), source.get(27), "algorithm"),
                source.getInt(28),
                source.getLong(32),
                source.getInt(40),
                source.getInt(44),
                source.getLong(48),
                source.getLong(56));
    }

    /** Whether both headers belong to one call with one algorithm. */
    boolean isSameCall(FrameHeader that) {
        return equals(that.withFrame(sender, step, length));
    }

    /** Whether both headers belong to one call whose parts may run with different algorithms. */
    boolean isPartOfSameCall(FrameHeader that) {
        return isSameCall(that.withAlgorithm(algorithm));
    }

    /** Returns the envelope of a message. */
    Envelope envelope() {
        return Envelope.of(detail, type, count);
    }

    /** Describes the call for messages to the user: {@code allReduce #12(f32, 100, SUM)}. */
    String describe() {
        return Call.describe(sequence, kind, type, op, amount(), root);
    }

    private String amount() {
        if (kind.isMessage()) {
            return envelope().amount();
        }
        return detail == 0
                ? Long.toString(count)
                : detail == OF_EACH_RANK ? "uneven blocks" : Fingerprint.describeBlocks(count, detail);
    }
}

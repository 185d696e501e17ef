package io.jrun.comm.tcp;

import java.util.List;
import java.util.SplittableRandom;

/**
 * A fault of a {@link FaultyProxy} in one direction of one connection.
 *
 * @param at number of bytes or frames before the fault; for a lasting fault, the number of affected bytes or frames
 * @param seed seed of the fault's random choices
 */
public record Fault(Kind kind, long at, long seed) {
    /** Kinds of faults. */
    public enum Kind {
        NONE,
        /** Pieces come late. */
        DELAYED,
        /** Pieces of a few bytes. */
        TORN,
        /** The connection is reset. */
        RESET,
        /** This direction ends. The other direction continues. */
        HALF_CLOSED,
        /** Nothing comes any more, nothing ends. */
        SILENT,
        /** One bit is wrong. */
        FLIPPED,
        /** Bytes that no rank has sent. */
        GARBAGE,
        /** A length is far too large. */
        OVERSIZED,
        /** A frame does not come. */
        DROPPED,
        /** A frame comes twice. */
        DUPLICATED,
        /** A frame comes after the next. */
        REORDERED,
        /** A frame has half of its bytes, and says so. */
        TRUNCATED,
        /** The connection ends in the middle of a frame. */
        CUT;

        /** Whether it strikes a frame, wherever in the stream that is. */
        public boolean isOfFrames() {
            return compareTo(DROPPED) >= 0;
        }
    }

    /** The two ways through a connection; before the payload come the handshake and a first frame's header. */
    public enum Direction {
        TO_CALLED(HandshakeRequest.BYTES, Integer.BYTES + SecretProof.BYTES),
        TO_CALLER(Nonce.BYTES + SecretProof.BYTES + 1, Integer.BYTES + SecretProof.BYTES);

        private final long lengthAt;
        private final long headerAt;

        Direction(long lengthAt, long rest) {
            this.lengthAt = lengthAt;
            this.headerAt = lengthAt + rest;
        }

        /** The number of bytes before the length of a notice; 0 if frames follow. */
        long lengthAt() {
            return lengthAt;
        }
    }

    static final Fault NOTHING = new Fault(Kind.NONE, 0, 0);

    private static final List<Kind> HARMLESS = List.of(Kind.NONE, Kind.DELAYED, Kind.TORN);
    private static final int FAR = 64 * 1024;
    private static final int MAX_FRAMES = 8;
    private static final int LENGTH_IN_HEADER = 48;

    /** Draws a fault. A fault that may corrupt bytes occurs before the payload, because the payload has no checksum. */
    static Fault draw(SplittableRandom random, Direction direction, boolean mayHarm) {
        List<Kind> kinds = mayHarm ? List.of(Kind.values()) : HARMLESS;
        Kind kind = kinds.get(random.nextInt(kinds.size()));
        long payloadAt = direction.headerAt + FrameHeader.BYTES;
        long early = random.nextLong(payloadAt);
        long at = switch (kind) {
            case NONE -> 0;
            case DELAYED, TORN -> payloadAt + random.nextInt(1000);
            case RESET, HALF_CLOSED, SILENT -> random.nextBoolean() ? early : random.nextInt(FAR);
            case FLIPPED, GARBAGE ->
                random.nextBoolean() ? early : direction.headerAt + random.nextInt(FrameHeader.BYTES);
            case DROPPED, DUPLICATED, REORDERED, TRUNCATED, CUT -> random.nextInt(MAX_FRAMES);
            case OVERSIZED -> random.nextBoolean() ? direction.lengthAt : direction.headerAt + LENGTH_IN_HEADER;
        };
        return new Fault(kind, at, random.nextLong());
    }
}

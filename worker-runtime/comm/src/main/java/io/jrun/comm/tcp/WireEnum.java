package io.jrun.comm.tcp;

/** Enum constants on the wire: one byte, the constant's place. All ranks of a job run one version of jrun. */
final class WireEnum {
    private WireEnum() {}

    /** The byte for {@code constant}. */
    @SuppressWarnings("EnumOrdinal") // The place is the number on the wire, as the enums say where they are declared.
    static byte code(Enum<?> constant) {
        return (byte) constant.ordinal();
    }

    /**
     * The constant for a byte that was received.
     *
     * @param values all constants
     * @param what names the field in the error
     */
    static <E extends Enum<E>> E constant(E[] values, byte code, String what) throws HandshakeRefusedException {
        if (code < 0 || code >= values.length) {
            throw new HandshakeRefusedException("it sent the unknown " + what + " " + code);
        }
        return values[code];
    }
}

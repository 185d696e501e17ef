package io.jrun.comm.tcp;

/**
 * Enum constants on the wire: one byte with the position of the constant. All ranks of a job run one version of jrun.
 */
final class WireEnum {
    private WireEnum() {}

    /** Returns the byte of {@code constant}. */
    @SuppressWarnings("EnumOrdinal") // The position is the number on the wire, as the enums document.
    static byte code(Enum<?> constant) {
        return (byte) constant.ordinal();
    }

    /**
     * Returns the constant of a received byte.
     *
     * @param values all constants
     * @param what name of the field for the error
     */
    static <E extends Enum<E>> E constant(E[] values, byte code, String what) throws HandshakeRefusedException {
        if (code < 0 || code >= values.length) {
            throw new HandshakeRefusedException("the peer sent the unknown " + what + " " + code);
        }
        return values[code];
    }
}

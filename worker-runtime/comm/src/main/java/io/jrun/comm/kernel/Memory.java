package io.jrun.comm.kernel;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * All native memory as one segment with absolute addresses. Loops over it see one constant segment without a liveness
 * check, so that one compiled loop serves every mapping. The caller must ensure that an address is valid. The segment
 * is used only for memory that this module has mapped or allocated itself and that outlives the operation. Callers'
 * segments are only copied with {@link MemorySegment#copy}.
 */
public final class Memory {
    /** The offset {@code a} is the byte at address {@code a}. */
    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Memory() {}
}

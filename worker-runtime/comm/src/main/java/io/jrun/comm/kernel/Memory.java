package io.jrun.comm.kernel;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * All native memory as one segment, addressed by absolute addresses. Loops over it see one constant segment without a
 * liveness check, whatever arena the memory came from, so that one compiled loop serves every mapping. The price: an
 * address must be known to be good. It is used only for memory that this module has mapped or allocated itself and that
 * outlives the operation; callers' segments are only ever copied from and to with {@link MemorySegment#copy}.
 */
public final class Memory {
    /** Offset {@code a} is the byte at address {@code a}. */
    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Memory() {}
}

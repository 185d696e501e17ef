package io.jrun.train.nccl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;

/**
 * ncclConfig_t of NCCL 2.18. Later versions have appended members. Such a version finds by the size which members are
 * missing, and uses its defaults for these members. Stateless.
 */
final class NcclConfig {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            JAVA_LONG.withName("size"),
            JAVA_INT.withName("magic"),
            JAVA_INT.withName("version"),
            JAVA_INT.withName("blocking"),
            JAVA_INT.withName("cgaClusterSize"),
            JAVA_INT.withName("minCTAs"),
            JAVA_INT.withName("maxCTAs"),
            ADDRESS.withName("netName"),
            JAVA_INT.withName("splitShare"),
            MemoryLayout.paddingLayout(Integer.BYTES));

    private static final int MAGIC = 0xcafebeef;

    /** NCCL_VERSION(2,18,0): the version of the layout, not of the library. */
    private static final int VERSION = 21800;

    private static final int UNDEFINED = Integer.MIN_VALUE;

    private NcclConfig() {}

    /** A configuration with all defaults and non-blocking calls. */
    static MemorySegment nonBlocking(SegmentAllocator allocator) {
        MemorySegment config = allocator.allocate(LAYOUT);
        config.set(JAVA_LONG, offset("size"), LAYOUT.byteSize());
        config.set(JAVA_INT, offset("magic"), MAGIC);
        config.set(JAVA_INT, offset("version"), VERSION);
        config.set(JAVA_INT, offset("blocking"), 0);
        for (String member : new String[] {"cgaClusterSize", "minCTAs", "maxCTAs", "splitShare"}) {
            config.set(JAVA_INT, offset(member), UNDEFINED);
        }
        return config;
    }

    static long offset(String member) {
        return LAYOUT.byteOffset(PathElement.groupElement(member));
    }
}

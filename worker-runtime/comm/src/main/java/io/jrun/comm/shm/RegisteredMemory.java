package io.jrun.comm.shm;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The regions of memory that every rank of a group has mapped from every other rank. A location is a region number and
 * an offset. Ranks exchange locations, and each rank finds the bytes of a peer through its own mappings. Confined to
 * the group's collectives.
 */
final class RegisteredMemory implements AutoCloseable {
    /** The location of data that is not in registered memory. */
    static final long NOWHERE = -1;

    /** The location of empty data, which counts as registered. */
    static final long EMPTY = -2;

    private static final int OFFSET_BITS = 44;

    private final List<Region> regions = new ArrayList<>();

    private record Region(List<Segment> byRank, long start, long bytes) {}

    /** Adds the next region, mapped from each rank. */
    void add(List<Segment> byRank, int self, long bytes) {
        regions.add(new Region(List.copyOf(byRank), byRank.get(self).address(), bytes));
    }

    int count() {
        return regions.size();
    }

    /** Returns the location of the {@code bytes} at the start of {@code buffer}, or {@link #NOWHERE}. */
    long locate(MemorySegment buffer, long bytes) {
        if (bytes == 0) {
            return EMPTY;
        }
        if (!buffer.isNative()) {
            return NOWHERE;
        }
        long address = buffer.address();
        for (int number = 0; number < regions.size(); number++) {
            Region region = regions.get(number);
            long offset = address - region.start;
            if (offset >= 0 && offset + bytes <= region.bytes) {
                return (long) number << OFFSET_BITS | offset;
            }
        }
        return NOWHERE;
    }

    /** Returns the address in this process of the location {@code location} of {@code rank}. */
    long address(int rank, long location) {
        if (location == EMPTY) {
            return 0;
        }
        Region region = regions.get((int) (location >>> OFFSET_BITS));
        return region.byRank.get(rank).address() + (location & (1L << OFFSET_BITS) - 1);
    }

    @Override
    public void close() {
        for (Region region : regions) {
            region.byRank.forEach(Segment::close);
        }
        regions.clear();
    }
}

package io.jrun.comm.timeline;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The places of the values in the file. All numbers are little endian. */
final class TimelineLayout {
    /** The first eight bytes: "jrunTL1" and a newline. */
    static final long MAGIC = 0x0a314c546e75726aL;

    /** The version of the entries. A reader refuses another version. */
    static final int VERSION = 1;

    static final int HEADER_BYTES = 4096;
    static final int VERSION_AT = 8;
    static final int CAPACITY_AT = 16;
    static final int RANK_AT = 24;
    static final int WORLD_SIZE_AT = 28;
    static final int ROUND_AT = 32;
    static final int PID_AT = 40;
    static final int ANCHOR_NANOS_AT = 48;
    static final int ANCHOR_MILLIS_AT = 56;

    /** Names of spans, operations and groups. Name 0 stands for all names that have no room. */
    static final int NAMES = 256;

    /** The length as an int, then UTF-8. */
    static final int NAME_BYTES = 256;

    static final int LENGTH_BYTES = 4;
    static final int ENTRIES_AT = HEADER_BYTES + NAMES * NAME_BYTES;

    static final int ENTRY_BYTES = 64;
    static final int TICKET = 0;
    static final int BEGIN = 8;
    static final int END = 16;

    /** Kind (8 bits), state (8), name (16), group (16), algorithm (16, a name; 0 if not known). */
    static final int WORDS = 24;

    static final int NUMBER = 32;
    static final int BYTES = 40;

    /** The rank that came last plus 1 (32 bits, low), the peer of a message plus 1 (32 bits, high). */
    static final int RANKS = 48;

    /** The wait of a collective; the tag of a message. */
    static final int LATE_NANOS = 56;

    /** In place of a ticket while a thread writes the entry. */
    static final long BEING_WRITTEN = -1;

    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final VarHandle ATOMIC = LONG.varHandle();

    private TimelineLayout() {}
}

package io.jrun.comm.shm;

/**
 * Where things lie in a group's control segment: a header, one slot per rank, one mailbox with its ring per ordered pair of
 * ranks. A rank writes its own slot and the outgoing side of its mailboxes; everybody reads. What different ranks write lies
 * 128 bytes apart, since processors fetch cache lines in pairs.
 *
 * <p>A slot has the word of phases and two <em>entries</em>, used by turns: an operation's number, its fingerprint, where
 * its data is, the data itself if that is small, and the sizes of its blocks if they are uneven. Two entries suffice: a rank
 * enters operation k+2 only after all ranks have entered k+1, so all ranks have read entry k.
 */
final class ControlBlock {
    /** Data of at most this size travels in the entry itself: one barrier, no staging. */
    static final int INLINE_BYTES = 4096;

    /** Where the poison's text may be; the text itself is cut to this. */
    static final int MAX_TEXT_BYTES = 3072;

    private static final long LINE = 128;
    private static final long HEADER_BYTES = 4096;
    private static final long ENTRIES = 2 * LINE;
    private static final long ENTRY_DATA = 48;
    private static final long ENTRY_COUNTS = (ENTRY_DATA + INLINE_BYTES + LINE - 1) / LINE * LINE;
    private static final long MAILBOX_BYTES = 3 * LINE;
    private static final long PAGE = 4096;

    /** The chunks in which one rank's messages to another travel. */
    static final long RING_BYTES = 256 << 10;

    private final long base;
    private final int size;

    ControlBlock(long base, int size) {
        this.base = base;
        this.size = size;
    }

    /** Header, slots and mailboxes: what every group needs. */
    static long reservedBytes(int size) {
        return HEADER_BYTES + size * slotBytes(size) + (long) size * size * MAILBOX_BYTES;
    }

    /** The above and the rings of the mailboxes, each of which gets its space with the first message. */
    static long bytes(int size) {
        return ringsOffset(size) + (long) size * size * RING_BYTES;
    }

    /** Counts the ranks that have mapped the block. */
    long attached() {
        return base;
    }

    /** Counts those of them that have closed it again. */
    long detached() {
        return base + Integer.BYTES;
    }

    /** 0: healthy; 1: being written; 2: the text is the group's failure. */
    long poisonState() {
        return base + LINE;
    }

    long poisonLength() {
        return base + LINE + Integer.BYTES;
    }

    long poisonText() {
        return base + 2 * LINE;
    }

    /** How many sleep on one of this rank's words. */
    long waiters(int rank) {
        return slot(rank);
    }

    /** 1 once this rank has mapped the block. */
    long present(int rank) {
        return slot(rank) + LINE / 2;
    }

    /** How many collectives this rank has finished. */
    long finished(int rank) {
        return present(rank) + Long.BYTES;
    }

    /** How large this rank's pieces of a call are where the group is the part of one on several nodes; else 0. */
    long pieceBytes(int rank) {
        return finished(rank) + Long.BYTES;
    }

    /** Counts the phases this rank has finished, over all operations. */
    long phase(int rank) {
        return slot(rank) + LINE;
    }

    /** The entry of an operation: its first word is the operation's number plus one. */
    long entry(int rank, long sequence) {
        return slot(rank) + ENTRIES + (sequence & 1) * entryBytes(size);
    }

    /** Kind, type, reduction and root in one word. */
    static long fingerprint(long entry) {
        return entry + 8;
    }

    static long count(long entry) {
        return entry + 16;
    }

    /** Where the data is in registered memory, or {@link RegisteredMemory#NOWHERE}. */
    static long location(long entry) {
        return entry + 24;
    }

    /** In the place of the location, of a chunk: what the message is besides type and count. */
    static long label(long chunk) {
        return chunk + 24;
    }

    /** The operation's number as the program counts: the entry's own is that of a part where operations have parts. */
    static long calledAs(long entry) {
        return entry + 32;
    }

    /** {@code Fingerprint.blocks} of the program's call. */
    static long blocks(long entry) {
        return entry + 40;
    }

    static long data(long entry) {
        return entry + ENTRY_DATA;
    }

    /** How many elements the exposing rank's block of number {@code block} has, if the blocks are uneven. */
    static long blockCount(long entry, int block) {
        return entry + ENTRY_COUNTS + (long) block * Long.BYTES;
    }

    /** Chunks written by the sender of this pair. */
    long written(int source, int destination) {
        return mailbox(source, destination);
    }

    /** Chunks read by the receiver of this pair. */
    long read(int source, int destination) {
        return mailbox(source, destination) + LINE;
    }

    /** How many sleep on one of this pair's words. */
    long mailboxWaiters(int source, int destination) {
        return mailbox(source, destination) + 2 * LINE;
    }

    /** Offset of this pair's ring in the segment. */
    long ringOffset(int source, int destination) {
        return ringsOffset(size) + ((long) source * size + destination) * RING_BYTES;
    }

    long ring(int source, int destination) {
        return base + ringOffset(source, destination);
    }

    private static long ringsOffset(int size) {
        return (reservedBytes(size) + PAGE - 1) / PAGE * PAGE;
    }

    private long slot(int rank) {
        return base + HEADER_BYTES + rank * slotBytes(size);
    }

    private static long slotBytes(int size) {
        return ENTRIES + 2 * entryBytes(size);
    }

    private static long entryBytes(int size) {
        return ENTRY_COUNTS + (size * (long) Long.BYTES + LINE - 1) / LINE * LINE;
    }

    private long mailbox(int source, int destination) {
        return base + HEADER_BYTES + size * slotBytes(size) + ((long) source * size + destination) * MAILBOX_BYTES;
    }
}

package io.jrun.comm.shm;

/**
 * The layout of a group's control segment: a header, one slot per rank, and one mailbox with its ring per ordered pair
 * of ranks. A rank writes its own slot and the outgoing side of its mailboxes. All ranks read everything. Data of
 * different writers is 128 bytes apart, because processors fetch cache lines in pairs.
 *
 * <p>A slot has the phase counter and two <em>entries</em>, used alternately. An entry has an operation's number, its
 * fingerprint, the location of its data, the data itself if the data is small, and the sizes of uneven blocks. Two
 * entries suffice: a rank enters operation k+2 only after all ranks have entered k+1, so all ranks have read entry k.
 */
final class ControlBlock {
    /** The largest size of data in the entry itself. Such an operation needs one barrier and no staging. */
    static final int INLINE_BYTES = 4096;

    /** The limit of the poison's text in bytes. Longer texts are truncated. */
    static final int MAX_TEXT_BYTES = 3072;

    private static final long LINE = 128;
    private static final long HEADER_BYTES = 4096;
    private static final long ENTRIES = 2 * LINE;
    private static final long ENTRY_DATA = 48;
    private static final long ENTRY_COUNTS = (ENTRY_DATA + INLINE_BYTES + LINE - 1) / LINE * LINE;
    private static final long MAILBOX_BYTES = 3 * LINE;
    private static final long PAGE = 4096;

    /** The size of a ring. A ring carries the messages of one rank to another rank in chunks. */
    static final long RING_BYTES = 256 << 10;

    private final long base;
    private final int size;

    ControlBlock(long base, int size) {
        this.base = base;
        this.size = size;
    }

    /** Size of the header, slots and mailboxes, which every group needs. */
    static long reservedBytes(int size) {
        return HEADER_BYTES + size * slotBytes(size) + (long) size * size * MAILBOX_BYTES;
    }

    /** Size of the whole block with the rings. A ring gets its memory with the first message. */
    static long bytes(int size) {
        return ringsOffset(size) + (long) size * size * RING_BYTES;
    }

    /** Number of ranks that have mapped the block. */
    long attached() {
        return base;
    }

    /** Number of ranks that have closed the block again. */
    long detached() {
        return base + Integer.BYTES;
    }

    /** State of the poison. 0: healthy; 1: being written; 2: the text is the group's failure. */
    long poisonState() {
        return base + LINE;
    }

    long poisonLength() {
        return base + LINE + Integer.BYTES;
    }

    long poisonText() {
        return base + 2 * LINE;
    }

    /** Number of threads that sleep on one of this rank's words. */
    long waiters(int rank) {
        return slot(rank);
    }

    /** 1 after this rank has mapped the block. */
    long present(int rank) {
        return slot(rank) + LINE / 2;
    }

    /** Number of collectives that this rank has finished. */
    long finished(int rank) {
        return present(rank) + Long.BYTES;
    }

    /** Size in bytes of this rank's pipeline chunks if the group is a part of a group on several nodes; else 0. */
    long pieceBytes(int rank) {
        return finished(rank) + Long.BYTES;
    }

    /** Number of phases that this rank has finished, over all operations. */
    long phase(int rank) {
        return slot(rank) + LINE;
    }

    /** Entry of an operation. The first word is the operation's number plus one. */
    long entry(int rank, long sequence) {
        return slot(rank) + ENTRIES + (sequence & 1) * entryBytes(size);
    }

    /** Kind, type, reduction and root of the operation in one word. */
    static long fingerprint(long entry) {
        return entry + 8;
    }

    static long count(long entry) {
        return entry + 16;
    }

    /** Location of the data in registered memory, or {@link RegisteredMemory#NOWHERE}. */
    static long location(long entry) {
        return entry + 24;
    }

    /** Label of a message, in a chunk, at the place of the location: tag and object flag. */
    static long label(long chunk) {
        return chunk + 24;
    }

    /** Number of the program's operation. The entry's own number is the number of a part if operations have parts. */
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

    /** Number of elements in the block {@code block} of the exposing rank, if the blocks are uneven. */
    static long blockCount(long entry, int block) {
        return entry + ENTRY_COUNTS + (long) block * Long.BYTES;
    }

    /** Number of chunks that the sender of this pair has written. */
    long written(int source, int destination) {
        return mailbox(source, destination);
    }

    /** Number of chunks that the receiver of this pair has read. */
    long read(int source, int destination) {
        return mailbox(source, destination) + LINE;
    }

    /** Number of threads that sleep on one of this pair's words. */
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

package io.jrun.comm.shm;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.kernel.Kernels;
import io.jrun.comm.kernel.Memory;
import io.jrun.comm.kernel.RankOrderFold;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The collectives over shared memory. A rank whose data other ranks need exposes the data in one of three ways:
 *
 * <ul>
 *   <li><em>inline</em>, up to 4 KiB: the data is in the operation's entry; one barrier in total.
 * <li><em>registered</em>: the data is in memory that all ranks have mapped. No data is copied. A second barrier keeps
 * the exposing rank from continuing while other ranks still read.
 * <li><em>staged</em>: chunk by chunk through a staging area of two halves, with one barrier per chunk. A rank that
 * writes a half again has seen all ranks arrive at the chunk between, so all ranks have finished reading that half.
 * </ul>
 *
 * <p>A reduction of N bytes over P ranks: each rank reduces 1/P of the elements of all ranks, and reads N and writes N
 * bytes (registered). The memory moves 2 P N bytes in total, and every core takes part. Ranks share the copying of a
 * broadcast between registered buffers in the same way. Every element is reduced in ascending rank order, so results
 * depend neither on the way of exposing nor on the division of the data. Confined to the group's collectives.
 */
final class ShmCollectives {
    /**
     * Half of a staging area in bytes. Several halves fit into a third-level cache. Smaller halves would need more
     * barriers, and a barrier costs a thread switch if threads outnumber cores.
     */
    static final long HALF_BYTES = 1 << 20;

    /**
     * The piece size for reductions of two ranks. Between pieces the rank switches to compiled kernels when they are
     * ready.
     */
    private static final long PAIR_BLOCK_BYTES = 64 << 10;

    /** The piece size that one rank copies in a broadcast: large enough for the VM to write past the caches. */
    private static final long COPY_PIECE_BYTES = 4 << 20;

    /**
     * The smallest broadcast with shared copying. Below, each rank copies for itself, because the data is in the root's
     * cache.
     */
    private static final long MIN_SHARED_COPY_BYTES = 256 << 10;

    private static final long ALIGNMENT = 64;

    /** Makes the staging areas when the first operation needs them. Collective. */
    @FunctionalInterface
    interface StagingSource {
        /** Returns the address of each rank's area of {@code bytes} bytes. */
        long[] create(Call call, long bytes);
    }

    private final ControlBlock block;
    private final PhaseSynchronization steps;
    private final RegisteredMemory memory;
    private final StagingSource stagingSource;
    private final PausePoint pause;
    private final int self;
    private final int size;
    private final long[] sources;
    private final long[] halves;
    private final long scratch;
    private final RankOrderFold fold;
    private long[] staging = {};

    ShmCollectives(
            GroupContext group,
            ControlBlock block,
            PhaseSynchronization steps,
            RegisteredMemory memory,
            StagingSource stagingSource,
            PausePoint pause,
            Arena arena) {
        this.block = block;
        this.steps = steps;
        this.memory = memory;
        this.stagingSource = stagingSource;
        this.pause = pause;
        this.self = group.groupRank();
        this.size = group.size();
        this.sources = new long[size];
        this.halves = new long[size];
        this.scratch = arena.allocate(2 * RankOrderFold.BLOCK_BYTES, ALIGNMENT).address();
        this.fold = new RankOrderFold(scratch + RankOrderFold.BLOCK_BYTES);
    }

    void run(Call call) {
        Blocks blocks = call.blocks(size);
        long exposed = exposedBytes(self, call, blocks);
        boolean inline = isInline(call, blocks);
        boolean exposes = exposes(self, call);
        boolean offers = exposes || call.kind() == OpKind.BROADCAST;
        long location = inline || !offers ? RegisteredMemory.NOWHERE : memory.locate(call.input(), exposed);
        steps.enter(call, location, inline && exposes ? exposed : 0);
        pause.reached(call, "enter");
        if (inline) {
            for (int peer = 0; peer < size; peer++) {
                sources[peer] = ControlBlock.data(block.entry(peer, call.sequence()));
            }
            take(call, blocks, Piece.WHOLE);
        } else if (findRegistered(call)) {
            runRegistered(call, blocks);
        } else {
            runStaged(call, blocks);
        }
        steps.leave(call);
        pause.reached(call, "exit");
    }

    /**
     * A part of every block.
     *
     * @param offset offset of the part in each block, in bytes
     * @param stride length of the part, except for shorter blocks
     * @param isStaged whether the parts of a source's blocks are {@code stride} apart, instead of within whole blocks
     */
    private record Piece(long offset, long stride, boolean isStaged) {
        static final Piece WHOLE = new Piece(0, Long.MAX_VALUE, false);

        /** Number of bytes of the part in a block of {@code blockBytes}. */
        long length(long blockBytes) {
            return Math.clamp(blockBytes - offset, 0, stride);
        }
    }

    /** Whether the data of every exposing rank fits into its entry. All ranks get the same answer. */
    private boolean isInline(Call call, Blocks blocks) {
        if (call.unevenIncoming() != null) {
            return false;
        }
        long longest = exposesAllBlocks(call.kind())
                ? blocks.extent()
                : call.uneven() == null ? call.count() : blocks.longest();
        return longest * elementBytes(call) <= ControlBlock.INLINE_BYTES;
    }

    private long exposedBytes(int rank, Call call, Blocks blocks) {
        long count = exposesAllBlocks(call.kind())
                ? blocks.extent()
                : call.uneven() == null ? call.count() : blocks.count(rank);
        return count * elementBytes(call);
    }

    private static int elementBytes(Call call) {
        return call.type().sizeBytes();
    }

    private boolean exposes(int rank, Call call) {
        return switch (call.kind()) {
            case BROADCAST, SCATTER -> rank == call.root();
            default -> true;
        };
    }

    /** Whether an exposing rank has a block for each rank, instead of one block for all ranks. */
    private static boolean exposesAllBlocks(OpKind kind) {
        return switch (kind) {
            case REDUCE_SCATTER, SCATTER, ALL_TO_ALL -> true;
            default -> false;
        };
    }

    /**
     * Fills the sources with the registered data of all ranks. Returns false if the data of a rank is not registered.
     */
    private boolean findRegistered(Call call) {
        for (int peer = 0; peer < size; peer++) {
            if (exposes(peer, call)) {
                long location = SharedWords.plain(ControlBlock.location(block.entry(peer, call.sequence())));
                if (location == RegisteredMemory.NOWHERE) {
                    return false;
                }
                sources[peer] = memory.address(peer, location);
            }
        }
        return true;
    }

    private void runRegistered(Call call, Blocks blocks) {
        switch (call.kind()) {
            case ALL_REDUCE -> {
                if (size == 2) {
                    reducePair(call);
                } else {
                    reduceEverywhere(call);
                }
            }
            case REDUCE -> reduceSlice(call, sources, call.root(), call.bytes());
            case BROADCAST -> {
                if (call.bytes() >= MIN_SHARED_COPY_BYTES && sharesCopying(call)) {
                    copyPieces(call);
                } else {
                    take(call, blocks, Piece.WHOLE);
                }
            }
            default -> take(call, blocks, Piece.WHOLE);
        }
        steps.phase(call);
    }

    private void runStaged(Call call, Blocks blocks) {
        if (staging.length == 0) {
            staging = stagingSource.create(call, 2 * HALF_BYTES);
        }
        int slots = exposesAllBlocks(call.kind()) ? size : 1;
        long stride = HALF_BYTES / slots / ALIGNMENT * ALIGNMENT;
        long longest = longestBytes(call, blocks);
        long half = 0;
        for (long offset = 0; offset < longest; offset += stride) {
            Piece piece = new Piece(offset, stride, true);
            for (int peer = 0; peer < size; peer++) {
                halves[peer] = staging[peer] + half;
            }
            if (exposes(self, call)) {
                copyIn(call, blocks, piece, slots);
            }
            steps.phase(call);
            takeStaged(call, blocks, piece);
            half ^= HALF_BYTES;
        }
    }

    /** Returns the size of the longest block that any rank exposes. All ranks run this many chunks. */
    private long longestBytes(Call call, Blocks blocks) {
        if (call.uneven() == null) {
            return call.bytes();
        }
        long longest = blocks.longest();
        for (int peer = 0; peer < size && call.unevenIncoming() != null; peer++) {
            long entry = block.entry(peer, call.sequence());
            for (int part = 0; part < size; part++) {
                longest = Math.max(longest, SharedWords.plain(ControlBlock.blockCount(entry, part)));
            }
        }
        return longest * elementBytes(call);
    }

    private void copyIn(Call call, Blocks blocks, Piece piece, int slots) {
        if (slots == 1) {
            long bytes = piece.length(exposedBytes(self, call, blocks));
            copyIn(call.input(), piece.offset(), halves[self], bytes);
            return;
        }
        for (int slot = 0; slot < slots; slot++) {
            long bytes = piece.length(blocks.count(slot) * elementBytes(call));
            long start = blocks.offset(slot) * elementBytes(call) + piece.offset();
            copyIn(call.input(), start, halves[self] + slot * piece.stride(), bytes);
        }
    }

    private void takeStaged(Call call, Blocks blocks, Piece piece) {
        switch (call.kind()) {
            case ALL_REDUCE, REDUCE -> {
                long length = piece.length(call.bytes());
                reduceSlice(call, halves, self, length);
                steps.phase(call);
                if (call.kind() == OpKind.ALL_REDUCE || self == call.root()) {
                    gatherSlices(call, piece.offset(), length);
                }
            }
            default -> {
                System.arraycopy(halves, 0, sources, 0, size);
                take(call, blocks, piece);
            }
        }
    }

    /** Reduces this rank's slice of the data of all ranks into the slice of {@code target}. */
    private void reduceSlice(Call call, long[] data, int target, long bytes) {
        long end = sliceBegin(self + 1, bytes);
        for (long at = sliceBegin(self, bytes); at < end; at += RankOrderFold.BLOCK_BYTES) {
            long length = Math.min(RankOrderFold.BLOCK_BYTES, end - at);
            fold.fold(call.type(), call.op(), data, at, data[target] + at, length);
            pause.reached(call, "reduce");
        }
    }

    /** Reduces this rank's slice of the registered memory of all ranks into the memory of all ranks. */
    private void reduceEverywhere(Call call) {
        long end = sliceBegin(self + 1, call.bytes());
        for (long at = sliceBegin(self, call.bytes()); at < end; at += RankOrderFold.BLOCK_BYTES) {
            fold.foldAll(call.type(), call.op(), sources, at, Math.min(RankOrderFold.BLOCK_BYTES, end - at));
            pause.reached(call, "reduce");
        }
    }

    /**
     * Does the work of {@link #reduceEverywhere} for two ranks, in one pass that reads and writes both ranks' memory.
     */
    private void reducePair(Call call) {
        long begin = sliceBegin(self, call.bytes());
        long end = sliceBegin(self + 1, call.bytes());
        for (long at = begin; at < end; at += PAIR_BLOCK_BYTES) {
            long count = Math.min(PAIR_BLOCK_BYTES, end - at) / call.type().sizeBytes();
            Kernels.of(call.type(), count).combineBoth(call.op(), sources[0] + at, sources[1] + at, count);
            pause.reached(call, "reduce");
        }
    }

    /**
     * Fills the sources. Returns whether the broadcast buffers of all ranks are registered, so that any rank can fill
     * any other's.
     */
    private boolean sharesCopying(Call call) {
        for (int peer = 0; peer < size; peer++) {
            long location = SharedWords.plain(ControlBlock.location(block.entry(peer, call.sequence())));
            if (location == RegisteredMemory.NOWHERE) {
                return false;
            }
            sources[peer] = memory.address(peer, location);
        }
        return true;
    }

    /** Copies this rank's pieces of a broadcast to all ranks. */
    private void copyPieces(Call call) {
        long stride = Math.min(COPY_PIECE_BYTES, sliceBegin(1, call.bytes()));
        for (long at = self * stride; at < call.bytes(); at += size * stride) {
            long length = Math.min(stride, call.bytes() - at);
            for (int peer = 0; peer < size; peer++) {
                if (peer != call.root()) {
                    MemorySegment.copy(Memory.ALL, sources[call.root()] + at, Memory.ALL, sources[peer] + at, length);
                }
            }
        }
    }

    private void gatherSlices(Call call, long offset, long bytes) {
        for (int owner = 0; owner < size; owner++) {
            long begin = sliceBegin(owner, bytes);
            copyOut(halves[owner] + begin, call.output(), offset + begin, sliceBegin(owner + 1, bytes) - begin);
        }
    }

    /** Returns the start of a rank's slice, at a cache line, so that no line has two writers. */
    private long sliceBegin(int rank, long bytes) {
        long slice = (Math.ceilDiv(bytes, size) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return Math.min(bytes, rank * slice);
    }

    /** Copies or reduces this rank's part of the sources' data into the output. */
    private void take(Call call, Blocks blocks, Piece piece) {
        MemorySegment output = call.output();
        switch (call.kind()) {
            case BROADCAST -> {
                if (self != call.root()) {
                    copyOut(sources[call.root()], output, piece.offset(), piece.length(call.bytes()));
                }
            }
            case SCATTER -> {
                long source = sources[call.root()] + ownOffset(call, blocks, piece);
                copyOut(source, output, piece.offset(), ownLength(call, blocks, piece));
            }
            case GATHER -> {
                if (self == call.root()) {
                    takeFromAll(call, blocks, piece, false);
                }
            }
            case ALL_GATHER -> takeFromAll(call, blocks, piece, false);
            case ALL_TO_ALL -> takeFromAll(call, call.incoming(size), piece, true);
            case REDUCE_SCATTER ->
                foldFromAll(call, ownOffset(call, blocks, piece), piece.offset(), ownLength(call, blocks, piece));
            case ALL_REDUCE -> foldFromAll(call, 0, piece.offset(), piece.length(call.bytes()));
            case REDUCE -> {
                if (self == call.root()) {
                    foldFromAll(call, 0, piece.offset(), piece.length(call.bytes()));
                }
            }
            case BARRIER -> {}
            case SEND, RECV, ALLOCATE, ALLOCATE_SHARED ->
                throw new IllegalArgumentException(call.describe() + " is not a collective");
        }
    }

    /** Returns the offset of the piece of this rank's block at every source. */
    private long ownOffset(Call call, Blocks blocks, Piece piece) {
        return piece.isStaged() ? self * piece.stride() : blocks.offset(self) * elementBytes(call);
    }

    private long ownLength(Call call, Blocks blocks, Piece piece) {
        return piece.length(blocks.count(self) * elementBytes(call));
    }

    /**
     * Fills the output from all ranks.
     *
     * @param incoming blocks of the output
     * @param isOneOfMany whether each source has a block for each rank, and this rank takes its own block
     */
    private void takeFromAll(Call call, Blocks incoming, Piece piece, boolean isOneOfMany) {
        for (int peer = 0; peer < size; peer++) {
            long source = sources[peer] + (isOneOfMany ? offsetAt(peer, call, incoming, piece) : 0);
            long target = incoming.offset(peer) * elementBytes(call) + piece.offset();
            boolean isInPlace = call.output().isNative() && call.output().address() + target == source;
            if (!isInPlace) {
                copyOut(source, call.output(), target, piece.length(incoming.count(peer) * elementBytes(call)));
            }
        }
    }

    /**
     * Returns the offset of the piece of this rank's block in the data of {@code peer}. {@code blocks} is used if the
     * blocks are even.
     */
    private long offsetAt(int peer, Call call, Blocks blocks, Piece piece) {
        if (piece.isStaged() || call.uneven() == null) {
            return ownOffset(call, blocks, piece);
        }
        long entry = block.entry(peer, call.sequence());
        long before = 0;
        for (int part = 0; part < self; part++) {
            before += SharedWords.plain(ControlBlock.blockCount(entry, part));
        }
        return before * elementBytes(call);
    }

    private void foldFromAll(Call call, long sourceOffset, long offset, long length) {
        for (long at = 0; at < length; at += RankOrderFold.BLOCK_BYTES) {
            long part = Math.min(RankOrderFold.BLOCK_BYTES, length - at);
            fold.fold(call.type(), call.op(), sources, sourceOffset + at, scratch, part);
            copyOut(scratch, call.output(), offset + at, part);
            pause.reached(call, "reduce");
        }
    }

    private static void copyIn(MemorySegment from, long offset, long address, long bytes) {
        if (bytes > 0) { // Otherwise the offset may be behind the end of a shorter block.
            MemorySegment.copy(from, offset, Memory.ALL, address, bytes);
        }
    }

    private static void copyOut(long address, MemorySegment to, long offset, long bytes) {
        if (bytes > 0) {
            MemorySegment.copy(Memory.ALL, address, to, offset, bytes);
        }
    }
}

package io.jrun.comm.collective;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import java.lang.foreign.MemorySegment;

/** Runs a call with an algorithm: slices the buffers, copies own blocks, and handles calls without data. */
public final class CollectiveAlgorithms {
    private final PeerLinks links;
    private final Call call;
    private final Algorithm algorithm;
    private final Reduction reduction;

    private CollectiveAlgorithms(PeerLinks links, Call call, Algorithm algorithm, Reduction reduction) {
        this.links = links;
        this.call = call;
        this.algorithm = algorithm;
        this.reduction = reduction;
    }

    /**
     * Runs a collective. Sends may still be under way when the method returns.
     *
     * @param call any call except SEND and RECV
     * @param algorithm choice of {@link AlgorithmSelector} for the call
     * @param reduction arithmetic of the call; unused if the kind does not reduce
     */
    public static void run(PeerLinks links, Call call, Algorithm algorithm, Reduction reduction) {
        new CollectiveAlgorithms(links, call, algorithm, reduction).run();
    }

    private void run() {
        if (links.size() == 1) {
            copyOwn();
        } else if (call.count() == 0 && !isUnevenAllToAll()) {
            // There is no data, but the ranks must still compare their calls.
            DisseminationBarrier.run(links);
        } else {
            dispatch();
        }
    }

    private void dispatch() {
        switch (call.kind()) {
            case ALL_REDUCE -> allReduce(whole(call.input()));
            case REDUCE -> reduce(whole(call.input()));
            case BROADCAST -> broadcast(whole(call.input()));
            case REDUCE_SCATTER -> reduceScatter(blocks());
            case ALL_GATHER -> allGather(blocks());
            case GATHER -> gather(blocks());
            case SCATTER -> scatter(blocks());
            case ALL_TO_ALL ->
                PairwiseAllToAll.run(links, call.input(), blocks(), call.output(), chunks(call.incoming(links.size())));
            case BARRIER, ALLOCATE, ALLOCATE_SHARED -> DisseminationBarrier.run(links);
            case SEND, RECV -> throw new IllegalArgumentException(call.describe() + " is not a collective");
        }
    }

    private void allReduce(MemorySegment buffer) {
        Chunks chunks = new Chunks(call.count(), links.size(), call.type().sizeBytes());
        switch (algorithm) {
            case HALVING_DOUBLING ->
                HalvingDoublingAllReduce.run(
                        links, reduction, buffer, call.count(), call.type().sizeBytes());
            case RECURSIVE_DOUBLING -> RecursiveDoublingAllReduce.run(links, reduction, buffer);
            case DIRECT -> {
                DirectReduceScatter.run(links, reduction, buffer, chunks.slice(buffer, links.rank()), chunks);
                allGather(buffer, chunks, chunks.longest() <= AlgorithmSelector.SMALL_BYTES);
            }
            case RING, TREE, CHAIN, PAIRWISE, DISSEMINATION -> RingAllReduce.run(links, reduction, buffer, chunks);
        }
    }

    private void reduce(MemorySegment buffer) {
        if (algorithm == Algorithm.TREE) {
            TreeReduce.run(links, reduction, buffer, call.root());
            return;
        }
        Chunks chunks = new Chunks(call.count(), links.size(), call.type().sizeBytes());
        MemorySegment own = isRoot() ? chunks.slice(buffer, links.rank()) : behindScratch(chunks);
        reduceScatter(buffer, chunks, own);
        DirectGather.gather(links, own, buffer, chunks, call.root());
    }

    // A rank other than the root must not change its buffer. Its chunk of the result therefore goes behind the
    // reduce-scatter's own scratch memory.
    private MemorySegment behindScratch(Chunks chunks) {
        long used = algorithm == Algorithm.DIRECT
                ? DirectReduceScatter.scratchBytes(links, chunks)
                : RingReduceScatter.scratchBytes(chunks);
        return links.scratch(used + chunks.longest()).asSlice(used, chunks.length(links.rank()));
    }

    private void reduceScatter(Chunks blocks) {
        reduceScatter(call.input(), blocks, own(call.output(), blocks));
    }

    private void reduceScatter(MemorySegment input, Chunks chunks, MemorySegment output) {
        if (algorithm == Algorithm.DIRECT) {
            DirectReduceScatter.run(links, reduction, input, output, chunks);
        } else {
            RingReduceScatter.run(links, reduction, input, output, chunks);
        }
    }

    private void allGather(Chunks blocks) {
        MemorySegment own = own(call.input(), blocks);
        MemorySegment place = blocks.slice(call.output(), links.rank());
        if (!place.equals(own)) {
            place.copyFrom(own);
        }
        allGather(call.output(), blocks, algorithm == Algorithm.DIRECT);
    }

    private void allGather(MemorySegment buffer, Chunks chunks, boolean direct) {
        if (direct) {
            DirectAllGather.run(links, buffer, chunks);
        } else {
            RingAllGather.run(links, buffer, chunks);
        }
    }

    private void broadcast(MemorySegment buffer) {
        if (algorithm == Algorithm.CHAIN) {
            ChainBroadcast.run(links, buffer, call.root());
        } else {
            TreeBroadcast.run(links, buffer, call.root());
        }
    }

    private void gather(Chunks blocks) {
        MemorySegment own = own(call.input(), blocks);
        if (algorithm == Algorithm.TREE) {
            TreeGather.gather(links, own, call.output(), blocks, call.root());
            return;
        }
        if (isRoot()) {
            blocks.slice(call.output(), links.rank()).copyFrom(own);
        }
        DirectGather.gather(links, own, call.output(), blocks, call.root());
    }

    private void scatter(Chunks blocks) {
        MemorySegment own = own(call.output(), blocks);
        if (algorithm == Algorithm.TREE) {
            TreeGather.scatter(links, call.input(), own, blocks, call.root());
            return;
        }
        if (isRoot()) {
            own.copyFrom(blocks.slice(call.input(), links.rank()));
        }
        DirectGather.scatter(links, call.input(), own, blocks, call.root());
    }

    private void copyOwn() {
        long bytes = blocks().total();
        if (bytes > 0 && !call.input().equals(call.output())) {
            MemorySegment.copy(call.input(), 0, call.output(), 0, bytes);
        }
    }

    private boolean isRoot() {
        return links.rank() == call.root();
    }

    /** Whether every rank divides its blocks in its own way. No count then tells all ranks that there is no data. */
    private boolean isUnevenAllToAll() {
        return call.unevenIncoming() != null;
    }

    private Chunks blocks() {
        return chunks(call.blocks(links.size()));
    }

    private Chunks chunks(Blocks blocks) {
        return new Chunks(blocks, call.type().sizeBytes());
    }

    /** Returns this rank's block in a buffer that holds only this block. */
    private MemorySegment own(MemorySegment buffer, Chunks blocks) {
        return buffer.asSlice(0, blocks.length(links.rank()));
    }

    /** Returns the buffer of an in-place operation. */
    private MemorySegment whole(MemorySegment buffer) {
        return buffer.asSlice(0, call.bytes());
    }
}

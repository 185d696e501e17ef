package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.kernel.Memory;
import java.lang.foreign.MemorySegment;

/** The two barriers of an operation: its entry, and the end of each of its phases. */
final class PhaseSynchronization {
    private static final long WITHDRAWN = 0;

    private final GroupContext group;
    private final ControlBlock block;
    private final FutexWait waiting;
    private final MismatchCheck mismatch;
    private final int self;
    private final int size;
    private long phases;

    PhaseSynchronization(GroupContext group, ControlBlock block, FutexWait waiting, MismatchCheck mismatch) {
        this.group = group;
        this.block = block;
        this.waiting = waiting;
        this.mismatch = mismatch;
        this.self = group.groupRank();
        this.size = group.size();
    }

    /**
     * Returns when every rank has entered the operation, and all calls are equal.
     *
     * @param location location of this rank's data in registered memory
     * @param inlineBytes number of bytes of the input that are copied into the entry
     */
    void enter(Call call, long location, long inlineBytes) {
        // The deadline of a part does not give the start of the part.
        long begunNanos = call.whole() == null ? call.startNanoTime() : System.nanoTime();
        long sequence = call.sequence();
        long entry = block.entry(self, sequence);
        SharedWords.plain(ControlBlock.fingerprint(entry), Fingerprint.of(call, group));
        SharedWords.plain(ControlBlock.count(entry), call.asCalled().count());
        SharedWords.plain(ControlBlock.calledAs(entry), call.asCalled().sequence());
        SharedWords.plain(ControlBlock.blocks(entry), Fingerprint.blocks(call));
        SharedWords.plain(ControlBlock.location(entry), location);
        if (inlineBytes > 0) {
            MemorySegment.copy(call.input(), 0, Memory.ALL, ControlBlock.data(entry), inlineBytes);
        }
        Blocks uneven = call.uneven();
        for (int part = 0; uneven != null && part < size; part++) {
            SharedWords.plain(ControlBlock.blockCount(entry, part), uneven.count(part));
        }
        FutexWait.publish(entry, sequence + 1, block.waiters(self));
        try {
            awaitEntries(call, begunNanos);
        } catch (CommException failure) {
            // A later rank must not see this rank as inside the operation.
            FutexWait.publish(entry, WITHDRAWN, block.waiters(self));
            throw failure;
        }
    }

    private void awaitEntries(Call call, long begunNanos) {
        long sequence = call.sequence();
        int last = self;
        for (int peer = 0; peer < size; peer++) {
            if (peer != self) {
                if (waiting.until(block.entry(peer, sequence), sequence + 1, block.waiters(peer), peer, call)) {
                    last = peer;
                }
                mismatch.compare(peer, call);
            }
        }
        if (last != self) {
            group.waits().add(group.members().get(last).rank(), System.nanoTime() - begunNanos);
        }
    }

    /** Marks the operation as finished by this rank, for reports of ranks' positions. */
    void leave(Call call) {
        SharedWords.release(block.finished(self), call.sequence() + 1);
    }

    /** Returns when every rank has finished this phase. Equal operations have the same phases on all ranks. */
    void phase(Call call) {
        group.world().pause().reached(call, "step");
        phases++;
        FutexWait.publish(block.phase(self), phases, block.waiters(self));
        for (int peer = 0; peer < size; peer++) {
            if (peer != self) {
                boolean _ = waiting.until(block.phase(peer), phases, block.waiters(peer), peer, call);
            }
        }
    }
}

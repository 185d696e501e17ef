package io.jrun.comm.shm;

import io.jrun.comm.DataType;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.kernel.Memory;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Messages between two ranks: for each direction a ring of four chunks in the control segment. A send returns when its
 * last chunk is in the ring. The chunk stays there after the sender has left. The first send also waits until the
 * receiver uses the group. Thread-safe for one send and one receive per peer at a time.
 */
final class Mailboxes {
    private static final int CHUNKS = 4;
    private static final long CHUNK_BYTES = ControlBlock.RING_BYTES / CHUNKS;
    private static final long CHUNK_HEADER_BYTES = 64;
    private static final long CHUNK_DATA_BYTES = CHUNK_BYTES - CHUNK_HEADER_BYTES;

    private final Segment control;
    private final ControlBlock block;
    private final FutexWait waiting;
    private final MismatchCheck mismatch;
    private final PausePoint pause;
    private final int self;
    private final int size;
    private final Set<Integer> reserved = ConcurrentHashMap.newKeySet();

    Mailboxes(GroupContext group, Segment control, ControlBlock block, FutexWait waiting, MismatchCheck mismatch) {
        this.control = control;
        this.block = block;
        this.waiting = waiting;
        this.mismatch = mismatch;
        this.pause = group.world().pause();
        this.self = group.groupRank();
        this.size = group.size();
    }

    void send(Call call) {
        pause.reached(call, "enter");
        int peer = call.root();
        if (!reserved.contains(peer)) {
            // Otherwise a message could be lost with its sender, if no other rank has mapped the memory yet.
            boolean _ = waiting.until(block.present(peer), 1, block.waiters(peer), peer, call);
            control.reserve(block.ringOffset(self, peer), ControlBlock.RING_BYTES);
            reserved.add(peer);
        }
        long written = SharedWords.acquire(block.written(self, peer));
        long waiters = block.mailboxWaiters(self, peer);
        long offset = 0;
        do {
            long length = Math.min(CHUNK_DATA_BYTES, call.bytes() - offset);
            boolean _ = waiting.until(block.read(self, peer), written - CHUNKS + 1, waiters, peer, call);
            long chunk = block.ring(self, peer) + written % CHUNKS * CHUNK_BYTES;
            SharedWords.plain(chunk, call.sequence());
            SharedWords.plain(ControlBlock.fingerprint(chunk), Fingerprint.of(call));
            SharedWords.plain(ControlBlock.count(chunk), call.count());
            SharedWords.plain(ControlBlock.label(chunk), call.label());
            MemorySegment.copy(call.input(), offset, Memory.ALL, chunk + CHUNK_HEADER_BYTES, length);
            pause.reached(call, "step");
            written++;
            FutexWait.publish(block.written(self, peer), written, waiters);
            offset += length;
        } while (offset < call.bytes());
        pause.reached(call, "exit");
    }

    void receive(Call call) {
        pause.reached(call, "enter");
        int peer = call.root();
        long waiters = block.mailboxWaiters(peer, self);
        long read = SharedWords.acquire(block.read(peer, self));
        long offset = 0;
        do {
            long length = Math.min(CHUNK_DATA_BYTES, call.bytes() - offset);
            boolean _ = waiting.until(block.written(peer, self), read + 1, waiters, peer, call);
            long chunk = block.ring(peer, self) + read % CHUNKS * CHUNK_BYTES;
            compare(chunk, call);
            MemorySegment.copy(Memory.ALL, chunk + CHUNK_HEADER_BYTES, call.output(), offset, length);
            pause.reached(call, "step");
            read++;
            FutexWait.publish(block.read(peer, self), read, waiters);
            offset += length;
        } while (offset < call.bytes());
        pause.reached(call, "exit");
    }

    /** Waits for the next message of {@code call.root()} and returns its envelope. The message stays in the ring. */
    Envelope next(Call call) {
        int peer = call.root();
        long read = SharedWords.acquire(block.read(peer, self));
        boolean _ = waiting.until(block.written(peer, self), read + 1, block.mailboxWaiters(peer, self), peer, call);
        long chunk = block.ring(peer, self) + read % CHUNKS * CHUNK_BYTES;
        return envelope(chunk);
    }

    private static Envelope envelope(long chunk) {
        DataType type = Fingerprint.type(SharedWords.plain(ControlBlock.fingerprint(chunk)));
        return Envelope.of(
                SharedWords.plain(ControlBlock.label(chunk)), type, SharedWords.plain(ControlBlock.count(chunk)));
    }

    /** Whether there is an unread chunk from {@code source}. */
    boolean hasMessage(int source) {
        return SharedWords.acquire(block.written(source, self)) > SharedWords.acquire(block.read(source, self));
    }

    /** Wakes all threads that sleep on a mailbox of this group. */
    void wakeAll() {
        for (int source = 0; source < size; source++) {
            for (int destination = 0; destination < size; destination++) {
                if (SharedWords.latestInt(block.mailboxWaiters(source, destination)) != 0) {
                    SystemCalls.futexWake(block.written(source, destination));
                    SystemCalls.futexWake(block.read(source, destination));
                }
            }
        }
    }

    /**
     * Compares the message with the receive. Only the types of the fingerprints are compared, because the roots differ.
     */
    private void compare(long chunk, Call call) {
        long fingerprint = SharedWords.plain(ControlBlock.fingerprint(chunk));
        long sequence = SharedWords.plain(chunk);
        Envelope envelope = envelope(chunk);
        if (!envelope.equals(Envelope.of(call.label(), call.type(), call.count())) || sequence != call.sequence()) {
            throw mismatch.mismatch(call.root(), Fingerprint.describe(sequence, fingerprint, envelope.amount()), call);
        }
    }
}

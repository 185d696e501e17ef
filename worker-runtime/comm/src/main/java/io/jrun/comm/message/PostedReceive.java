package io.jrun.comm.message;

import io.jrun.comm.CommException;
import io.jrun.comm.Messages;
import io.jrun.comm.ReceiveFuture;
import io.jrun.comm.Received;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.operation.ArgumentChecks;
import io.jrun.comm.operation.PendingWork;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A receive from its call to its end. Thread-safe under the lock of {@link Inbox}. */
public final class PostedReceive implements ReceiveFuture {
    private final Call request;
    private final int tag;
    private final boolean isObject;
    private final long sequence;
    private final Deadline deadline;
    private final PendingWork work = new PendingWork();
    private byte[] object = {};
    private volatile @Nullable Received arrived;
    private volatile boolean filling;
    private volatile @Nullable CommException mismatch;

    PostedReceive(Call request, int tag, boolean isObject, long sequence, Deadline deadline) {
        this.request = request;
        this.tag = tag;
        this.isObject = isObject;
        this.sequence = sequence;
        this.deadline = deadline;
    }

    /** The deadline of the receive, counted from its call. */
    public Deadline deadline() {
        return deadline;
    }

    /** The envelope that the receive expects. */
    public Envelope expected() {
        return new Envelope(tag, request.type(), request.count(), isObject);
    }

    /** The number of this receive among the receives from the same source. */
    public long sequence() {
        return sequence;
    }

    /** The bytes of an object, after the object has arrived. */
    public byte[] object() {
        return object;
    }

    public Received arrived() {
        Received result = arrived;
        if (result == null) {
            throw new IllegalStateException("no message has arrived");
        }
        return result;
    }

    public boolean hasArrived() {
        return arrived != null;
    }

    /**
     * Whether another thread writes a message into the receive's memory. The caller must not touch the memory
     * meanwhile.
     */
    boolean isFilling() {
        return filling;
    }

    void filling(boolean begins) {
        filling = begins;
    }

    /** The message is in the receive's memory. {@link #complete} then wakes the waiting threads. */
    void arrive(int source, Envelope envelope) {
        arrived = new Received(source, envelope.tag(), envelope.count());
    }

    /** A message matches the receive but has another type or count. The receive fails with {@code why}. */
    void reject(CommException why) {
        mismatch = why;
    }

    /** The failure of {@link #reject}; null if there is none. */
    @Nullable
    public CommException rejection() {
        return mismatch;
    }

    /** Throws the failure of {@link #reject} if there is one. */
    void checkRejected() {
        CommException why = mismatch;
        if (why != null) {
            throw why;
        }
    }

    /** The group rank of the source, or {@link Messages#ANY_SOURCE}. */
    int source() {
        return request.root();
    }

    public void complete() {
        work.complete();
    }

    public void fail(Throwable failure) {
        work.fail(failure);
    }

    /** Whether source and tag of the message match the receive. */
    boolean matches(int source, Envelope envelope) {
        return tag == envelope.tag() && (request.root() == source || request.root() == Messages.ANY_SOURCE);
    }

    /** Whether a message that matches also has the type and count of the receive. */
    boolean hasTypeAndCountOf(Envelope envelope) {
        return isObject == envelope.isObject()
                && (isObject || (request.type() == envelope.type() && request.count() == envelope.count()));
    }

    /** The memory for a message with the type and count of the receive. */
    MemorySegment target(Envelope envelope) {
        if (isObject) {
            ArgumentChecks.objectSize(OpKind.RECV, envelope.count());
            object = new byte[(int) envelope.count()];
            return MemorySegment.ofArray(object);
        }
        return request.output();
    }

    /** Describes the receive for messages to the user. */
    String describe() {
        String amount = expected().amount(OpKind.RECV);
        return Call.describe(sequence, OpKind.RECV, request.type(), ReduceOp.SUM, amount, request.root());
    }

    @Override
    public Received received() {
        await();
        return arrived();
    }

    @Override
    public void await() {
        work.await();
    }

    @Override
    public void await(Duration timeout) {
        work.await(timeout);
    }

    @Override
    public boolean isDone() {
        return work.isDone();
    }

    @Override
    public Optional<Throwable> exception() {
        return work.exception();
    }

    @Override
    public CompletableFuture<Void> future() {
        return work.future();
    }
}

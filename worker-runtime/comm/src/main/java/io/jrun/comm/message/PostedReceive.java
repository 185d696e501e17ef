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

/** A receive from when it is called. Thread-safe where {@link Inbox} uses it so. */
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

    /** When it must have its message, counted from its call. */
    public Deadline deadline() {
        return deadline;
    }

    /** What it says of the message that it waits for. */
    public Envelope expected() {
        return new Envelope(tag, request.type(), request.count(), isObject);
    }

    /** Its number among the receives from the same source. */
    public long sequence() {
        return sequence;
    }

    /** The bytes of an object that has arrived. */
    public byte[] object() {
        return object;
    }

    public Received arrived() {
        Received result = arrived;
        if (result == null) {
            throw new IllegalStateException("nothing has arrived");
        }
        return result;
    }

    public boolean hasArrived() {
        return arrived != null;
    }

    /** Whether a message is on its way into the receive's memory, which is not the caller's until that has ended. */
    boolean isFilling() {
        return filling;
    }

    void filling(boolean begins) {
        filling = begins;
    }

    /** The message is in its place; {@link #complete} tells those who wait. */
    void arrive(int source, Envelope envelope) {
        arrived = new Received(source, envelope.tag(), envelope.count());
    }

    /** A message fits that does not agree: the receive fails with this. */
    void refuse(CommException why) {
        mismatch = why;
    }

    /** What it was refused with; null if it was not. */
    @Nullable
    public CommException refusal() {
        return mismatch;
    }

    /** Throws what it was refused with, if it was. */
    void checkRefused() {
        CommException why = mismatch;
        if (why != null) {
            throw why;
        }
    }

    /** Group rank that it receives from, or {@link Messages#ANY_SOURCE}. */
    int source() {
        return request.root();
    }

    public void complete() {
        work.complete();
    }

    public void fail(Throwable failure) {
        work.fail(failure);
    }

    /** Whether the message may go here. */
    boolean fits(int source, Envelope envelope) {
        return tag == envelope.tag() && (request.root() == source || request.root() == Messages.ANY_SOURCE);
    }

    /** Whether a message that fits is also of the size that this receive has said. */
    boolean agrees(Envelope envelope) {
        return isObject == envelope.isObject()
                && (isObject || (request.type() == envelope.type() && request.count() == envelope.count()));
    }

    /** Where the message goes, which {@link #agrees}. */
    MemorySegment target(Envelope envelope) {
        if (isObject) {
            ArgumentChecks.objectSize(OpKind.RECV, envelope.count());
            object = new byte[(int) envelope.count()];
            return MemorySegment.ofArray(object);
        }
        return request.output();
    }

    /** How messages name the receive. */
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

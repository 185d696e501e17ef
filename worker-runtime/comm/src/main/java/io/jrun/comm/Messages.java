package io.jrun.comm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Messages between two ranks of a group. A message has a tag, a number that says what it is for; a receive takes messages of
 * one tag, from one rank or from any.
 *
 * <p>Order, as MPI has it: messages of one rank to another with one tag arrive in the order in which they were sent, and a
 * message goes to the receive that was posted first among those that fit it. A receive waits only for a message that fits
 * it. Messages that arrive before those that are waited for are kept, up to {@value Matches#MAX_EARLY_BYTES} bytes in all;
 * what is beyond waits with its sender, and so does all that this sends after it, until it is received.
 *
 * <p>A receive states type and count; a message of another type or count is a COLLECTIVE_MISMATCH that names both. A wait for
 * a message from any source fails with PEER_LOST when all other ranks have left.
 *
 * <p>From {@link ProcessGroup#messages()}; thread-safe.
 */
public final class Messages {
    /** In place of a rank to receive from: whoever sends first. */
    public static final int ANY_SOURCE = -1;

    private final GroupRuntime runtime;
    private final CallOptions options;
    private final Requests requests;

    Messages(GroupRuntime runtime, CallOptions options, Requests requests) {
        this.runtime = runtime;
        this.options = options;
        this.requests = requests;
    }

    /** Sends {@code count} elements; may return before they are received, but large messages wait for the receiver. */
    public void send(MemorySegment buffer, DataType type, long count, int destination, int tag) {
        Request request = requests.message(OpKind.SEND, buffer, type, count, destination);
        runtime.sends(destination).run(sending(request, tag));
    }

    /** Asynchronous {@link #send}. */
    public Work sendAsync(MemorySegment buffer, DataType type, long count, int destination, int tag) {
        Request request = requests.message(OpKind.SEND, buffer, type, count, destination);
        return runtime.sends(destination).submit(sending(request, tag));
    }

    /**
     * Receives a message of {@code count} elements.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     */
    public Received recv(MemorySegment buffer, DataType type, long count, int source, int tag) {
        return receive(requests.message(OpKind.RECV, buffer, type, count, source), tag);
    }

    /** Asynchronous {@link #recv}; receives that are under way at the same time do not wait for each other's messages. */
    public Receipt recvAsync(MemorySegment buffer, DataType type, long count, int source, int tag) {
        Request request = requests.message(OpKind.RECV, buffer, type, count, source);
        Posted posted = runtime.inbox().post(request, tag, Deadline.after(options.timeout()));
        GroupTask task = receiving(request, posted);
        try {
            Work _ = runtime.receives(source == ANY_SOURCE ? requests.size() : source)
                    .submit(new AsyncReceive(runtime.inbox(), posted, task));
            failAtOnce(posted);
            failInTime(posted);
        } catch (RuntimeException refused) {
            runtime.inbox().forget(posted);
            throw refused;
        }
        return posted;
    }

    /** A message that does not agree may be here before its receive, whose turn may be long to come. */
    private void failAtOnce(Posted posted) {
        CommException refusal = posted.refusal();
        if (refusal != null) {
            CommException _ = runtime.fail(refusal);
        }
    }

    /** A receive may end before one that was called earlier from the same source, for which the progress thread waits. */
    private void failInTime(Posted posted) {
        var _ = posted.future()
                .orTimeout(posted.deadline().remainingNanos(), TimeUnit.NANOSECONDS)
                .exceptionallyAsync(failure -> {
                    if (failure instanceof TimeoutException && !posted.hasArrived()) {
                        CommException _ = runtime.fail(runtime.inbox().timedOut(posted));
                    }
                    return null;
                });
    }

    /**
     * Sends and receives many messages at once and returns when all are done: all are posted before any is waited for, so
     * that rings and exchanges between neighbours cannot lock up, in whatever order each rank lists its part. Among equal
     * ranks and tags the list's order counts.
     */
    public void exchange(List<Transfer> transfers) {
        exchangeAsync(transfers).await();
    }

    /** Asynchronous {@link #exchange}. */
    public Work exchangeAsync(List<Transfer> transfers) {
        List<Work> works = new ArrayList<>();
        for (Transfer transfer : transfers) {
            if (transfer instanceof Transfer.Recv(var buffer, var type, var count, var source, var tag)) {
                works.add(recvAsync(buffer, type, count, source, tag));
            }
        }
        for (Transfer transfer : transfers) {
            if (transfer instanceof Transfer.Send(var buffer, var type, var count, var destination, var tag)) {
                works.add(sendAsync(buffer, type, count, destination, tag));
            }
        }
        return Pending.all(works);
    }

    /** Sends an object; see {@link ObjectCollectives}. */
    public <T> void sendObject(T value, int destination, int tag, Codec<T> codec) {
        Encoded encoded = Encoded.of(value, codec);
        Throwable failure = encoded.failure();
        if (failure != null) {
            throw new CommException(ErrorCode.USAGE, "send: the codec cannot encode the object: " + failure, failure);
        }
        byte[] bytes = encoded.bytes();
        Arguments.objectSize(OpKind.SEND, bytes.length);
        Request request =
                requests.message(OpKind.SEND, MemorySegment.ofArray(bytes), DataType.U8, bytes.length, destination);
        runtime.sends(destination).run(sending(request, new Envelope(tag, DataType.U8, bytes.length, true)));
    }

    /**
     * Receives an object that was sent with {@link #sendObject}; a message of elements in its place is a
     * COLLECTIVE_MISMATCH.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     * @throws CommException USAGE if the codec cannot decode the bytes
     */
    public <T> T recvObject(int source, int tag, Codec<T> codec) {
        Request request = requests.message(OpKind.RECV, MemorySegment.ofArray(new byte[0]), DataType.U8, 0, source);
        Posted posted = runtime.inbox().postObject(request, tag, Deadline.after(options.timeout()));
        Received received = receive(request, posted);
        byte[] bytes = posted.object();
        try {
            return codec.decode(bytes);
        } catch (RuntimeException e) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "recv: the codec cannot decode the " + bytes.length + " bytes of rank "
                            + runtime.context().members().get(received.source()).rank() + ": " + e,
                    e);
        }
    }

    private Received receive(Request request, int tag) {
        return receive(request, runtime.inbox().post(request, tag, Deadline.after(options.timeout())));
    }

    private Received receive(Request request, Posted posted) {
        try {
            Lane.refuseWaiting("recv");
            receiving(request, posted).run(posted.sequence());
            return posted.arrived();
        } finally {
            runtime.inbox().forget(posted);
        }
    }

    private GroupTask receiving(Request request, Posted posted) {
        return new GroupTask(
                runtime,
                request.withLabel(posted.expected().label()),
                posted.deadline(),
                (backend, call) -> runtime.inbox().await(backend, call, posted));
    }

    private GroupTask sending(Request request, int tag) {
        return sending(request, new Envelope(tag, request.type(), request.count(), false));
    }

    private GroupTask sending(Request request, Envelope envelope) {
        return new GroupTask(runtime, request.withLabel(envelope.label()), options.timeout(), Backend::send);
    }

    /** Waits for a message on a progress thread. */
    private record AsyncReceive(Inbox inbox, Posted posted, GroupTask task) implements Lane.Task {
        @Override
        public void queued(long sequence) {
            task.queued(posted.sequence());
        }

        @Override
        public void run(long sequence) {
            try {
                task.run(posted.sequence());
                posted.complete();
            } catch (Throwable failure) {
                posted.fail(failure);
                throw failure;
            } finally {
                inbox.forget(posted);
            }
        }
    }
}

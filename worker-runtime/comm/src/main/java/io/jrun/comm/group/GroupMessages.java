package io.jrun.comm.group;

import io.jrun.comm.Buffer;
import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.ReceiveFuture;
import io.jrun.comm.Received;
import io.jrun.comm.Transfer;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.message.Inbox;
import io.jrun.comm.message.PostedReceive;
import io.jrun.comm.object.EncodedObject;
import io.jrun.comm.operation.ArgumentChecks;
import io.jrun.comm.operation.CallOptions;
import io.jrun.comm.operation.CombinedWork;
import io.jrun.comm.operation.OperationQueue;
import io.jrun.comm.operation.OperationRequests;
import io.jrun.comm.staging.DeviceMessages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The messages of a group. Thread-safe. */
final class GroupMessages implements Messages {

    private final GroupRuntime runtime;
    private final CallOptions options;
    private final OperationRequests requests;

    GroupMessages(GroupRuntime runtime, CallOptions options, OperationRequests requests) {
        this.runtime = runtime;
        this.options = options;
        this.requests = requests;
    }

    @Override
    public void send(MemorySegment buffer, DataType type, long count, int destination, int tag) {
        Call request = requests.message(OpKind.SEND, buffer, type, count, destination);
        Device device = runtime.devices().deviceOf(request);
        if (device != null) {
            sendFrom(device, request, tag).awaitOn(DeviceStream.defaultOf(device));
            return;
        }
        runtime.sends(destination).run(sending(request, tag));
    }

    @Override
    public Work sendAsync(MemorySegment buffer, DataType type, long count, int destination, int tag) {
        Call request = requests.message(OpKind.SEND, buffer, type, count, destination);
        Device device = runtime.devices().deviceOf(request);
        return device == null
                ? runtime.sends(destination).submit(sending(request, tag))
                : sendFrom(device, request, tag);
    }

    /** Queues the copy of a message to host memory, and its send. */
    private Work sendFrom(Device device, Call request, int tag) {
        DeviceMessages.Outgoing outgoing = runtime.devices()
                .messages()
                .send(request.input().asSlice(0, request.bytes()), device, Deadline.after(options.timeout()));
        Call fromHost = request.withBuffers(outgoing.memory(), outgoing.memory())
                .withLabel(new Envelope(tag, request.type(), request.count(), false).label());
        GroupTask task = new GroupTask(runtime, fromHost, options.timeout(), (backend, call) -> {
            outgoing.awaitArrival(call);
            backend.send(call);
        });
        try {
            Work queued = runtime.sends(request.root()).submit(task);
            var _ = queued.future().whenComplete((_, _) -> outgoing.release());
            return new DeviceSend(queued, outgoing);
        } catch (RuntimeException refused) {
            outgoing.release();
            throw refused;
        }
    }

    @Override
    public Received recv(MemorySegment buffer, DataType type, long count, int source, int tag) {
        Call request = requests.message(OpKind.RECV, buffer, type, count, source);
        Device device = runtime.devices().deviceOf(request);
        return device == null
                ? receive(request, tag)
                : receiveInto(device, request, tag).receivedOn(DeviceStream.defaultOf(device));
    }

    @Override
    public ReceiveFuture recvAsync(MemorySegment buffer, DataType type, long count, int source, int tag) {
        Call request = requests.message(OpKind.RECV, buffer, type, count, source);
        Device device = runtime.devices().deviceOf(request);
        return device == null ? post(request, tag) : receiveInto(device, request, tag);
    }

    private DeviceReceive receiveInto(Device device, Call request, int tag) {
        DeviceMessages.Incoming incoming =
                runtime.devices().messages().receive(request.output().asSlice(0, request.bytes()), device);
        try {
            PostedReceive posted = post(request.withBuffers(incoming.memory(), incoming.memory()), tag);
            return new DeviceReceive(
                    posted, incoming, request.numbered(posted.sequence(), posted.deadline()), runtime::fail);
        } catch (RuntimeException refused) {
            incoming.release();
            throw refused;
        }
    }

    private PostedReceive post(Call request, int tag) {
        int source = request.root();
        PostedReceive posted = runtime.inbox().post(request, tag, Deadline.after(options.timeout()));
        GroupTask task = receiving(request, posted);
        try {
            Work _ = runtime.receives(source == ANY_SOURCE ? requests.size() : source)
                    .submit(new AsyncReceive(runtime.inbox(), posted, task));
            failAtOnce(posted);
            failInTime(posted);
        } catch (RuntimeException refused) {
            runtime.inbox().remove(posted);
            throw refused;
        }
        return posted;
    }

    /**
     * Fails the group if an unexpected message does not agree with the receive. The receive itself may run much later.
     */
    private void failAtOnce(PostedReceive posted) {
        CommException rejection = posted.rejection();
        if (rejection != null) {
            CommException _ = runtime.fail(rejection);
        }
    }

    /**
     * Fails the group at the receive's deadline. The progress thread may then still wait for an earlier receive of the
     * same source.
     */
    private void failInTime(PostedReceive posted) {
        var _ = posted.future()
                .orTimeout(posted.deadline().remainingNanos(), TimeUnit.NANOSECONDS)
                .exceptionallyAsync(failure -> {
                    if (failure instanceof TimeoutException && !posted.hasArrived()) {
                        CommException _ = runtime.fail(runtime.inbox().timedOut(posted));
                    }
                    return null;
                });
    }

    @Override
    public void exchange(List<Transfer> transfers) {
        exchangeAsync(transfers).await();
    }

    @Override
    public Work exchangeAsync(List<Transfer> transfers) {
        transfers.forEach(this::checkDevice);
        List<Work> works = new ArrayList<>();
        for (Transfer transfer : transfers) {
            if (transfer instanceof Transfer.Recv(Buffer buffer, int source, int tag)) {
                works.add(recvAsync(buffer, source, tag));
            }
        }
        for (Transfer transfer : transfers) {
            if (transfer instanceof Transfer.Send(Buffer buffer, int destination, int tag)) {
                works.add(sendAsync(buffer, destination, tag));
            }
        }
        return new CombinedWork(works);
    }

    private void checkDevice(Transfer transfer) {
        MemorySegment _ = switch (transfer) {
            case Transfer.Send(Buffer buffer, int _, int _) -> memory("exchange", buffer);
            case Transfer.Recv(Buffer buffer, int _, int _) -> memory("exchange", buffer);
        };
    }

    @Override
    public MemorySegment memory(String operation, Buffer buffer) {
        if (!buffer.device().isCpu()) {
            runtime.unsupportedReason(buffer.device()).ifPresent(why -> {
                throw new CommException(ErrorCode.USAGE, operation + ": " + why);
            });
        }
        return buffer.memory();
    }

    @Override
    public <T> void sendObject(T value, int destination, int tag, Codec<T> codec) {
        EncodedObject encoded = EncodedObject.of(value, codec);
        Throwable failure = encoded.failure();
        if (failure != null) {
            throw new CommException(ErrorCode.USAGE, "send: the codec cannot encode the object: " + failure, failure);
        }
        byte[] bytes = encoded.bytes();
        ArgumentChecks.objectSize(OpKind.SEND, bytes.length);
        Call request =
                requests.message(OpKind.SEND, MemorySegment.ofArray(bytes), DataType.U8, bytes.length, destination);
        runtime.sends(destination).run(sending(request, new Envelope(tag, DataType.U8, bytes.length, true)));
    }

    @Override
    public <T> T recvObject(int source, int tag, Codec<T> codec) {
        Call request = requests.message(OpKind.RECV, MemorySegment.ofArray(new byte[0]), DataType.U8, 0, source);
        PostedReceive posted = runtime.inbox().postObject(request, tag, Deadline.after(options.timeout()));
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

    private Received receive(Call request, int tag) {
        return receive(request, runtime.inbox().post(request, tag, Deadline.after(options.timeout())));
    }

    private Received receive(Call request, PostedReceive posted) {
        try {
            OperationQueue.refuseWaiting("recv");
            receiving(request, posted).run(posted.sequence());
            return posted.arrived();
        } finally {
            runtime.inbox().remove(posted);
        }
    }

    private GroupTask receiving(Call request, PostedReceive posted) {
        return new GroupTask(
                runtime,
                request.withLabel(posted.expected().label()),
                posted.deadline(),
                (backend, call) -> runtime.inbox().await(backend, call, posted));
    }

    private GroupTask sending(Call request, int tag) {
        return sending(request, new Envelope(tag, request.type(), request.count(), false));
    }

    private GroupTask sending(Call request, Envelope envelope) {
        return new GroupTask(runtime, request.withLabel(envelope.label()), options.timeout(), Backend::send);
    }

    /** Waits for a message on a progress thread. */
    private record AsyncReceive(Inbox inbox, PostedReceive posted, GroupTask task) implements OperationQueue.Task {
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
                inbox.remove(posted);
            }
        }
    }
}

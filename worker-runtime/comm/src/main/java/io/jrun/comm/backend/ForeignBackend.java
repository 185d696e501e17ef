package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Another library's data plane with what a group promises besides: before each collective the ranks meet on jrun's own data
 * plane and compare their calls there, so that a difference, a lost or a missing rank is found and told as without the
 * library, and nobody enters it before all have come; and blocks of sizes of their own, which libraries do not have, are
 * moved by calls that they have ({@link UnevenCalls}). Messages go to the library as they are: their envelopes tell enough.
 */
public final class ForeignBackend implements Backend {
    private final Backend library;
    private final @Nullable Backend own;
    private final UnevenCalls uneven;

    /** @param own jrun's data plane of the same group; null: calls are not compared */
    public ForeignBackend(GroupContext group, Backend library, @Nullable Backend own) {
        this.library = library;
        this.own = own;
        this.uneven = new UnevenCalls(group, library);
    }

    @Override
    public void run(Call call) {
        if (!call.kind().isMessage()) {
            agree(call);
        }
        if (call.uneven() == null) {
            library.run(call);
        } else {
            uneven.run(call);
        }
    }

    /** The ranks compare a call on device memory while the device runs the operation, so that no stream waits for them. */
    @Override
    public @Nullable DeviceOperation onDevice(MemorySegment input, MemorySegment output) {
        DeviceOperation operation = library.onDevice(input, output);
        return operation == null ? null : new Compared(operation);
    }

    private final class Compared implements DeviceOperation {
        private final DeviceOperation operation;

        Compared(DeviceOperation operation) {
            this.operation = operation;
        }

        @Override
        public DeviceStream defaultStream() {
            return operation.defaultStream();
        }

        @Override
        public void enqueue(Call call, Runnable onStream) {
            operation.enqueue(call, onStream);
            agree(call);
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            operation.awaitOn(stream);
        }

        @Override
        public CompletableFuture<Void> done() {
            return operation.done();
        }
    }

    /** Returns when every rank has entered the call, and all mean the same. */
    private void agree(Call call) {
        if (own != null) {
            MemorySegment none = MemorySegment.NULL;
            own.run(call.part(call.sequence(), OpKind.BARRIER, ReduceOp.SUM, 0, 0, none, none));
        }
    }

    @Override
    public MemorySegment allocate(Call call) {
        agree(call);
        return library.allocate(call);
    }

    @Override
    public boolean hasMessage(int source) {
        return library.hasMessage(source);
    }

    @Override
    public void send(Call call) {
        library.send(call);
    }

    @Override
    public Envelope next(Call receive) {
        return library.next(receive);
    }

    @Override
    public void receive(Call call) {
        library.receive(call);
    }

    @Override
    public CommException settle(CommException failure) {
        CommException told = library.settle(failure);
        return own == null ? told : own.settle(told);
    }

    @Override
    public void healthChanged() {
        library.healthChanged();
        if (own != null) {
            own.healthChanged();
        }
    }

    @Override
    public void close() {
        library.close();
        if (own != null) {
            own.close();
        }
    }
}

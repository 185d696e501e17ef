package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of another library, with the guarantees of a group added. Before each collective, the ranks meet on
 * jrun's own data plane and compare their calls. A difference, or a lost or missing rank, is therefore found and
 * reported as with jrun's own backend, and no rank enters the library before all ranks have come. {@link UnevenCalls}
 * moves uneven blocks by calls that libraries have. Messages go to the library directly, because their envelopes
 * suffice for the comparison.
 */
public final class ForeignBackend implements Backend {
    private final Backend library;
    private final @Nullable Backend own;
    private final UnevenCalls uneven;

    /** @param own jrun's data plane of the same group; null: no comparison */
    public ForeignBackend(GroupContext group, Backend library, @Nullable Backend own) {
        this.library = library;
        this.own = own;
        this.uneven = new UnevenCalls(group, library);
    }

    @Override
    public void run(Call call) {
        if (!call.kind().isMessage()) {
            compare(call);
        }
        if (call.uneven() == null) {
            library.run(call);
        } else {
            uneven.run(call);
        }
    }

    /** Returns when every rank has entered the call, and all calls are equal. */
    private void compare(Call call) {
        if (own != null) {
            MemorySegment none = MemorySegment.NULL;
            own.run(call.part(call.sequence(), OpKind.BARRIER, ReduceOp.SUM, 0, 0, none, none));
        }
    }

    @Override
    public MemorySegment allocate(Call call) {
        compare(call);
        return library.allocate(call);
    }

    /** Memory of the host: no library is needed. */
    @Override
    public Optional<List<MemorySegment>> allocateShared(Call call, long bytes, Arena arena) {
        return own == null ? Optional.empty() : own.allocateShared(call, bytes, arena);
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
    public String algorithm(Call call) {
        return library.algorithm(call);
    }

    @Override
    public CommException settle(CommException failure) {
        CommException settled = library.settle(failure);
        return own == null ? settled : own.settle(settled);
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

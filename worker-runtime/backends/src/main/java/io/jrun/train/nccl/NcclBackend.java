package io.jrun.train.nccl;

import io.jrun.comm.Device;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The collectives of a group on device memory over NCCL. jrun's own data plane moves host memory and messages. */
final class NcclBackend implements Backend {
    /** The time for which a closing group waits for its operations and for the other ranks. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(5);

    private final Device device;
    private final NcclChannel channel;

    NcclBackend(Nccl nccl, Cuda cuda, Device device, GroupContext group, GroupRendezvous rendezvous) {
        this.device = device;
        this.channel = new NcclChannel(nccl, cuda, device, group, rendezvous);
    }

    @Override
    public @Nullable DeviceOperation onDevice(Call request, Device memory) {
        return memory.equals(device) ? channel.begin(request) : null;
    }

    @Override
    public void run(Call call) {
        throw onlyDevices(call);
    }

    @Override
    public String algorithm(Call call) {
        return "nccl";
    }

    @Override
    public MemorySegment allocate(Call call) {
        throw onlyDevices(call);
    }

    private static IllegalStateException onlyDevices(Call call) {
        return new IllegalStateException(call.describe() + ": NCCL runs collectives on device memory only");
    }

    @Override
    public void healthChanged() {}

    @Override
    public void close() {
        channel.close(Deadline.after(CLOSE_GRACE));
    }
}

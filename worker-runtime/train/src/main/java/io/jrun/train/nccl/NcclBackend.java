package io.jrun.train.nccl;

import io.jrun.comm.Device;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A group on NCCL. The group has one communicator for its collectives, and one communicator for each direction between
 * two members that exchange messages. The first use makes a communicator. If two ranks sent to each other on one
 * communicator, they would wait for each other.
 */
final class NcclBackend implements Backend {
    /** The time for which a closing group waits for its operations and for the other ranks. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(5);

    private final Nccl nccl;
    private final Cuda cuda;
    private final Device device;
    private final GroupContext group;
    private final GroupRendezvous rendezvous;
    private final NcclChannel collectives;
    private final ConcurrentHashMap<String, NcclChannel> messages = new ConcurrentHashMap<>();
    private final List<MemorySegment> pinned = new ArrayList<>();

    NcclBackend(Nccl nccl, Cuda cuda, Device device, GroupContext group, GroupRendezvous rendezvous) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.device = device;
        this.group = group;
        this.rendezvous = rendezvous;
        this.collectives = channel(group);
    }

    @Override
    public void run(Call call) {
        if (call.kind() == OpKind.SEND) {
            between(group.groupRank(), call.root()).run(call);
        } else if (call.kind() == OpKind.RECV) {
            between(call.root(), group.groupRank()).run(call);
        } else {
            collectives.run(call);
        }
    }

    /**
     * Begins an operation whose buffers are all device memory. Other operations run on copies, or in memory that the
     * host reads next.
     */
    @Override
    public @Nullable DeviceOperation onDevice(MemorySegment input, MemorySegment output) {
        boolean isOnDevice =
                isDeviceOrNone(input) && isDeviceOrNone(output) && input.byteSize() + output.byteSize() > 0;
        return isOnDevice ? collectives.begin() : null;
    }

    private boolean isDeviceOrNone(MemorySegment buffer) {
        return buffer.byteSize() == 0 || (buffer.isNative() && cuda.isDevice(buffer));
    }

    private NcclChannel between(int sender, int receiver) {
        String name = group.name() + "." + sender + "to" + receiver;
        return messages.computeIfAbsent(
                name,
                _ -> channel(new GroupContext(
                        group.world(),
                        name,
                        group.groupRank() == sender ? 0 : 1,
                        List.of(group.members().get(sender), group.members().get(receiver)),
                        group.deterministic(),
                        group.lateWarning(),
                        group.health())));
    }

    private NcclChannel channel(GroupContext members) {
        return new NcclChannel(nccl, cuda, device, members, rendezvous);
    }

    @Override
    public synchronized MemorySegment allocate(Call call) {
        cuda.use(device.index());
        MemorySegment memory = cuda.pinned(Math.max(1, call.bytes()));
        pinned.add(memory);
        return memory.asSlice(0, call.bytes()).fill((byte) 0);
    }

    @Override
    public void healthChanged() {}

    @Override
    public synchronized void close() {
        Deadline grace = Deadline.after(CLOSE_GRACE);
        collectives.close(grace);
        // Ranks meet at the end of each channel: in the same order on all ranks, so that no two wait for each other.
        new TreeMap<>(messages).values().forEach(channel -> channel.close(grace));
        collectives.useDevice();
        pinned.forEach(cuda::freePinned);
        pinned.clear();
    }
}

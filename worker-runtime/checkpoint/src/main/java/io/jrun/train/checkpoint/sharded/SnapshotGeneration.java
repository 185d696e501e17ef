package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.DataType;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Transfer;
import io.jrun.train.device.HostCopies;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The snapshots of one step that this process holds, by the rank whose state they are. If the ranks of a placement
 * group are on one node, they hold the snapshots in memory that all of them have mapped: a rank copies its state once,
 * and the memory stays when the rank is killed. Otherwise each rank has memory of its own, and the snapshots travel as
 * messages. The memory is used again if the same ranks take a snapshot of the same form. Confined to one thread.
 */
final class SnapshotGeneration implements AutoCloseable {
    private static final int TAG = 1;

    private final Map<Integer, HeldSnapshot> held = new LinkedHashMap<>();
    private final Map<Integer, List<Chunk>> chunksOfMembers = new LinkedHashMap<>();
    private Arena arena = Arena.ofShared();
    private String memory = SnapshotHolder.NO_MEMORY;
    private boolean isCommon;
    private int ranks;

    Map<Integer, HeldSnapshot> held() {
        return held;
    }

    /** The number of ranks that took the snapshot. */
    int ranks() {
        return ranks;
    }

    /** The name of the memory, equal on the ranks that have made the memory together. */
    String memory() {
        return memory;
    }

    /** Whether the members of the placement group have mapped the memory of each other. */
    boolean isCommon() {
        return isCommon;
    }

    /** The snapshots are not whole any more. */
    void begin() {
        held.values().forEach(HeldSnapshot::begin);
    }

    /** The snapshots are whole, on all ranks. */
    void end(long step, int worldSize) {
        ranks = worldSize;
        held.values().forEach(snapshot -> snapshot.end(step));
    }

    /** Makes memory for the next snapshot, unless this memory fits. Collective. */
    void prepare(ProcessGroup group, SnapshotPlacement placement, List<SnapshotHolder> holders, List<String> forms) {
        int self = group.groupRank();
        List<Integer> members = placement.groupOf(self);
        Map<Integer, SnapshotForm> parsed = new LinkedHashMap<>();
        members.forEach(member -> parsed.put(member, SnapshotForm.parse(forms.get(member))));
        boolean fits = List.copyOf(chunksOfMembers.keySet()).equals(members)
                && members.stream()
                        .allMatch(member -> holders.get(member).memory().equals(memory))
                && parsed.entrySet().stream()
                        .allMatch(member -> member.getValue().chunks().equals(chunksOfMembers.get(member.getKey())));
        if (fits) {
            held.forEach((rank, snapshot) -> snapshot.setForm(Objects.requireNonNull(parsed.get(rank))));
            return;
        }
        clear();
        boolean isOneNode = members.stream()
                        .map(member -> holders.get(member).nodeRank())
                        .distinct()
                        .count()
                == 1;
        long bytes = Objects.requireNonNull(parsed.get(self)).bytes();
        Optional<List<MemorySegment>> common =
                isOneNode && members.size() > 1 ? allocateCommon(group, members, bytes) : Optional.empty();
        if (common.isPresent()) {
            List<MemorySegment> segments = common.get();
            for (int i = 0; i < segments.size(); i++) {
                MemorySegment segment = segments.get(i);
                held.put(members.get(i), new HeldSnapshot(form(parsed, members.get(i)), (_, _) -> segment));
            }
        } else {
            held.put(self, new HeldSnapshot(form(parsed, self), arena));
            placement.heldBy(self).forEach(peer -> held.put(peer, new HeldSnapshot(form(parsed, peer), arena)));
        }
        isCommon = common.isPresent();
        parsed.forEach((member, form) -> chunksOfMembers.put(member, form.chunks()));
        memory = holders.get(members.getFirst()).proposal();
    }

    private static SnapshotForm form(Map<Integer, SnapshotForm> forms, int rank) {
        return Objects.requireNonNull(forms.get(rank));
    }

    private Optional<List<MemorySegment>> allocateCommon(ProcessGroup group, List<Integer> members, long bytes) {
        try (ProcessGroup together = group.newGroup(members, group.options().withBackend(GroupOptions.OWN_BACKEND))) {
            together.barrier(); // No member maps the memory of the former snapshot any more: its room is free.
            return together.allocateShared(bytes, arena);
        }
    }

    /** Begins to copy the state of a rank. */
    void beginCopy(int self, StateDict state, HostCopies copies) {
        Objects.requireNonNull(held.get(self)).beginCopy(state, copies);
    }

    /** Exchanges whole copies with the peers, unless the peers hold them together. Collective. */
    void exchange(ProcessGroup group, SnapshotPlacement placement) {
        if (isCommon) {
            return;
        }
        int self = group.groupRank();
        HeldSnapshot own = Objects.requireNonNull(held.get(self));
        List<Transfer> transfers = new ArrayList<>();
        for (int holder : placement.holders(self)) {
            if (holder != self) {
                transfers.add(new Transfer.Send(
                        own.memory(), DataType.U8, own.memory().byteSize(), holder, TAG));
            }
        }
        held.forEach((rank, snapshot) -> {
            if (rank != self) {
                transfers.add(new Transfer.Recv(
                        snapshot.memory(), DataType.U8, snapshot.memory().byteSize(), rank, TAG));
            }
        });
        group.messages().exchange(transfers);
    }

    private void clear() {
        memory = SnapshotHolder.NO_MEMORY;
        isCommon = false;
        held.values().forEach(HeldSnapshot::unpin);
        held.clear();
        chunksOfMembers.clear();
        arena.close();
        arena = Arena.ofShared();
    }

    /** Frees the memory. The generation has no snapshot then, and may get another. */
    @Override
    public void close() {
        clear();
    }
}

package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Codec;
import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.device.HostCopies;
import io.jrun.train.json.JsonWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Snapshots of the state of each rank in the memory of the rank and of its peers. A rank that was lost gets its state
 * from a peer. The object belongs to a process and outlives the rounds of {@code Elastic.run}: give it the world of the
 * round. The object keeps the last two snapshots, because a rank may be lost while a snapshot is taken. Peers on one
 * node hold a snapshot in memory that they share: a node needs memory for two states of each of its ranks. Otherwise
 * each rank needs memory for {@code 2 * copies} states. Source: Wang et al. 2023 (Gemini, SOSP). Confined to the
 * training thread.
 */
public final class PeerSnapshots implements AutoCloseable {
    private final int copies;
    private final HostCopies toHost = new HostCopies();
    private @Nullable Begun begun;
    private SnapshotGeneration newest = new SnapshotGeneration();
    private SnapshotGeneration older = new SnapshotGeneration();

    /** @param copies number of copies of each snapshot, the rank's own included; Gemini's m */
    public PeerSnapshots(int copies) {
        Libtorch.load();
        this.copies = copies;
    }

    /** A snapshot between {@link #begin} and {@link #end}. */
    private record Begun(World world, long step, SnapshotPlacement placement) {}

    /** The result of a recovery besides the tensors. */
    public record Recovered(long step, Map<String, String> texts) {}

    /**
     * Copies this rank's state, and exchanges copies with the peers. Collective. A loss during the call leaves the
     * snapshot of the call before.
     *
     * @throws IllegalArgumentException if there are fewer ranks than copies
     */
    public void take(World world, long step, StateDict state) {
        begin(world, step, state);
        end();
    }

    /**
     * Begins a snapshot, which {@link #end} ends. A GPU copies the state beside the work that the program queues
     * between the two calls, such as the next forward and backward pass. The state must not change between the two
     * calls: call {@link #end} before the next update of the optimizer, and before the next forward pass if the state
     * has buffers that a forward pass changes. The tensors may be freed. Collective.
     *
     * @throws IllegalArgumentException if there are fewer ranks than copies
     * @throws IllegalStateException if a snapshot was begun and not ended
     */
    public void begin(World world, long step, StateDict state) {
        if (begun != null) {
            throw new IllegalStateException("the snapshot of step " + begun.step() + " was begun and not ended."
                    + " Call end() before the next snapshot.");
        }
        ProcessGroup group = world.group();
        SnapshotGeneration next = older;
        // After this exchange all ranks have completed the snapshot before, and nobody needs the older one.
        List<SnapshotHolder> holders = SnapshotHolder.all(world, next.memory());
        SnapshotPlacement placement = new SnapshotPlacement(SnapshotHolder.order(holders), copies);
        next.begin();
        // After this exchange no rank counts on the older snapshot, whose memory is written now.
        List<String> forms = group.objects().allGather(SnapshotForm.of(state).toJson(), Codec.STRING);
        next.prepare(group, placement, holders, forms);
        begun = new Begun(world, step, placement);
        next.beginCopy(group.groupRank(), state, toHost);
    }

    /**
     * Waits for the copy of {@link #begin}, and exchanges copies with the peers. The snapshot counts from now on.
     * Collective. A loss before the end of the call leaves the snapshot before.
     *
     * @throws IllegalStateException if no snapshot was begun
     */
    public void end() {
        Begun ended = begun;
        if (ended == null) {
            throw new IllegalStateException("no snapshot was begun. Call begin() first, or take() in place of both.");
        }
        drop();
        ProcessGroup group = ended.world().group();
        SnapshotGeneration next = older;
        next.exchange(group, ended.placement());
        group.barrier(); // all copies of all ranks are complete: only now the snapshot before may be overwritten
        next.end(ended.step(), ended.world().size());
        older = newest;
        newest = next;
    }

    /** Waits for the copy of a snapshot that was begun. The snapshot does not count. */
    private void drop() {
        begun = null;
        toHost.await();
    }

    /** Whether this rank and its peers hold the newest snapshot in memory that they share. */
    boolean holdsTogether() {
        return newest.isCommon();
    }

    /**
     * Fills a state from the newest snapshot of which all parts are left in some memory. Collective; the number of
     * ranks may be another one than before.
     *
     * @return empty, with an unchanged state, on all ranks if a part is lost with all its copies, or if no snapshot was
     *     taken; then load a checkpoint
     */
    public Optional<Recovered> recover(World world, StateDict state) {
        drop(); // a rank was lost between begin() and end()
        SnapshotOffers offers = SnapshotOffers.of(world.group().objects().allGather(offer(), Codec.STRING));
        Optional<SnapshotOffers.Choice> chosen = offers.newestComplete();
        if (chosen.isEmpty()) {
            newest.begin();
            older.begin();
            return Optional.empty();
        }
        SnapshotOffers.Choice choice = chosen.get();
        goBackTo(choice.step());
        Map<String, Long> missing = new LinkedHashMap<>();
        state.entries().forEach(entry -> missing.put(entry.name(), entry.local().numel()));
        Map<String, String> texts = new LinkedHashMap<>();
        for (Map.Entry<Integer, Integer> part : choice.holders().entrySet()) {
            @Nullable
            HeldSnapshot own = world.rank() == part.getValue() ? newest.held().get(part.getKey()) : null;
            try (Arena received = Arena.ofShared()) {
                HeldSnapshot snapshot = broadcast(world.group(), part.getValue(), own, received);
                for (StateEntry entry : state.entries()) {
                    missing.computeIfPresent(entry.name(), (_, left) -> left > 0 ? left - snapshot.fill(entry) : left);
                }
                snapshot.texts().forEach(texts::putIfAbsent);
            }
            if (!anyMissing(world, missing)) {
                break; // replicated states are complete after the first part
            }
        }
        missing.values().removeIf(left -> left == 0);
        if (!missing.isEmpty()) {
            throw new CheckpointException("the snapshot of step " + choice.step() + " lacks elements of the tensors "
                    + missing.keySet() + ". Recover a state of the same model.");
        }
        return Optional.of(new Recovered(choice.step(), texts));
    }

    /** Removes the snapshots of later steps: the recovery has undone these steps. */
    private void goBackTo(long step) {
        boolean isOlder = older.held().values().stream().anyMatch(held -> held.step() == step);
        if (isOlder) {
            SnapshotGeneration undone = newest;
            newest = older;
            older = undone;
        }
        older.begin();
        newest.held().values().stream().filter(held -> held.step() != step).forEach(HeldSnapshot::begin);
    }

    private static boolean anyMissing(World world, Map<String, Long> missing) {
        int[] any = {missing.values().stream().anyMatch(left -> left > 0) ? 1 : 0};
        world.group().allReduce(MemorySegment.ofArray(any), DataType.I32, 1, ReduceOp.MAX);
        return any[0] > 0;
    }

    private static HeldSnapshot broadcast(ProcessGroup group, int root, @Nullable HeldSnapshot own, Arena received) {
        String form = group.objects().broadcast(own == null ? null : own.form().toJson(), root, Codec.STRING);
        HeldSnapshot snapshot = own == null ? new HeldSnapshot(SnapshotForm.parse(form), received) : own;
        group.broadcast(snapshot.memory(), DataType.U8, snapshot.memory().byteSize(), root);
        return snapshot;
    }

    /** The snapshots of this process, as JSON. */
    private String offer() {
        List<Object> held = new ArrayList<>();
        for (SnapshotGeneration generation : List.of(newest, older)) {
            generation.held().forEach((rank, snapshot) -> {
                if (snapshot.step() >= 0) {
                    held.add(Map.of("step", snapshot.step(), "ranks", generation.ranks(), "rank", rank));
                }
            });
        }
        return JsonWriter.write(Map.of("held", held));
    }

    /** Frees the memory. */
    @Override
    public void close() {
        toHost.close();
        newest.close();
        older.close();
    }
}

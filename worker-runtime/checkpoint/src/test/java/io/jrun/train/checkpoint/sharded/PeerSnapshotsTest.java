package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.TransportKind;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeerSnapshotsTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Golden values of the paper's setting: 16 ranks, 2 copies. A ring would have 104/120 and 352/560. */
    @ParameterizedTest
    @CsvSource({"2, 112, 120", "3, 448, 560"})
    void groupsSurviveMostLosses(int lost, int survived, int all) {
        SnapshotPlacement placement =
                new SnapshotPlacement(IntStream.range(0, 16).boxed().toList(), 2);
        int good = 0;
        int count = 0;
        for (int mask = 0; mask < 1 << 16; mask++) {
            if (Integer.bitCount(mask) == lost) {
                int gone = mask;
                count++;
                good += IntStream.range(0, 16)
                                .allMatch(rank ->
                                        placement.holders(rank).stream().anyMatch(holder -> (gone >> holder & 1) == 0))
                        ? 1
                        : 0;
            }
        }
        assertThat(List.of(good, count)).containsExactly(survived, all);
    }

    @ParameterizedTest
    @CsvSource({"5, 2, '[[0, 1], [1, 0], [2, 3], [3, 4], [4, 2]]'", "3, 3, '[[0, 1, 2], [1, 2, 0], [2, 0, 1]]'"})
    void ranksThatAreLeftFormARing(int ranks, int copies, String holders) {
        SnapshotPlacement placement =
                new SnapshotPlacement(IntStream.range(0, ranks).boxed().toList(), copies);
        List<List<Integer>> found = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            found.add(placement.holders(rank));
        }
        assertThat(found).hasToString(holders);
    }

    /** Rank r of step s has the elements of {@code arange + s}; shards are uneven and one is empty. */
    private static StateDict state(World world, double step) {
        MeshAxis axis = new MeshAxis("dp", world.group());
        Tensor whole = torch.arange(new Scalar(5 * 3))
                .to(torch.ScalarType.Float)
                .view(5, 3)
                .add(new Scalar(step));
        return new StateDict()
                .put("", ShardedTensor.distribute("w", whole, new Shard(0), axis))
                .put("replicated", TensorMemory.own(whole.clone()))
                .putText("step", Double.toString(step));
    }

    @Test
    void aLostRankGetsItsBitsFromItsPeer() {
        List<PeerSnapshots> memories = train(4, 3);
        forget(memories, Set.of(1, 2)); // not of one group
        assertRecovered(memories, 4, 3);
        LocalWorld.run(4, world -> memories.get(world.rank()).take(world, 4, state(world, 4)));
        forget(memories, Set.of(0));
        assertRecovered(memories, 3, 4); // rank 3 is lost too, and fewer ranks go on
    }

    @Test
    void aGroupThatIsLostIsNotRecoveredFromMemory() {
        List<PeerSnapshots> memories = train(4, 2);
        forget(memories, Set.of(2, 3));
        LocalWorld.run(4, world -> {
            StateDict state = state(world, -1);
            assertThat(memories.get(world.rank()).recover(world, state)).isEmpty();
            ReshardTest.assertEqual(state, state(world, -1));
        });
    }

    /** After a recovery the training goes another way: snapshots of the undone past must not come back. */
    @Test
    void snapshotsOfAnUndonePastAreNotUsed() {
        List<PeerSnapshots> memories = train(4, 3);
        LocalWorld.run(4, world -> memories.get(world.rank()).take(world, 4, state(world, 400)));
        forget(memories, Set.of(0, 1)); // step 4 and step 3 of this group are gone
        LocalWorld.run(4, world -> {
            assertThat(memories.get(world.rank()).recover(world, state(world, -1)))
                    .isEmpty();
            memories.get(world.rank()).take(world, 4, state(world, 4));
        });
        forget(memories, Set.of(3));
        assertRecovered(memories, 4, 4);
    }

    /** A snapshot counts from its end: a rank that is lost before the end is recovered from the snapshot before. */
    @Test
    void aSnapshotThatWasBegunCountsFromItsEnd() {
        List<PeerSnapshots> memories = train(4, 3);
        LocalWorld.run(4, world -> {
            PeerSnapshots own = memories.get(world.rank());
            assertThatThrownBy(own::end).hasMessageContaining("no snapshot was begun");
            own.begin(world, 4, state(world, 4));
            assertThatThrownBy(() -> own.begin(world, 5, state(world, 5)))
                    .hasMessageContaining("the snapshot of step 4 was begun and not ended");
        });
        assertRecovered(memories, 4, 3);
        LocalWorld.run(4, world -> {
            PeerSnapshots own = memories.get(world.rank());
            own.begin(world, 4, state(world, 4));
            own.end();
        });
        forget(memories, Set.of(0));
        assertRecovered(memories, 4, 4);
    }

    /** Two groups of two ranks: each group on a node, each group over two nodes, and without shared memory. */
    @ParameterizedTest
    @CsvSource({"'4', SHM, true", "'2,2', AUTO, false", "'4', TCP, false"})
    void peersOfOneNodeHoldOneCopyTogether(String nodes, TransportKind transport, boolean isCommon) {
        LocalWorldOptions options = LocalWorldOptions.ofNodes(
                        Stream.of(nodes.split(",")).map(Integer::valueOf).toList())
                .withTransport(transport);
        List<PeerSnapshots> memories = train(options, 3);
        assertThat(memories).allMatch(memory -> memory.holdsTogether() == isCommon);
        forget(memories, Set.of(1, 2));
        assertRecovered(memories, 4, 3);
        LocalWorld.run(options, world -> memories.get(world.rank()).take(world, 4, state(world, 4)));
        assertThat(memories).allMatch(memory -> memory.holdsTogether() == isCommon);
        memories.forEach(PeerSnapshots::close);
    }

    /**
     * A rank writes no memory that a rank of an earlier round holds. Rank 1 of the first round is in no later round,
     * and rank 0 goes on with a new rank 1.
     */
    @Test
    void aLaterRoundLeavesTheMemoryOfAnEarlierRound() {
        List<PeerSnapshots> memories = train(2, 2);
        PeerSnapshots earlier = memories.get(1);
        memories.set(1, new PeerSnapshots(2));
        LocalWorld.run(2, world -> {
            PeerSnapshots own = memories.get(world.rank());
            assertThat(own.recover(world, state(world, -1))).isPresent();
            own.take(world, 3, state(world, 300));
            own.take(world, 4, state(world, 400));
        });
        memories.get(0).close();
        memories.set(0, new PeerSnapshots(2));
        memories.get(1).close();
        memories.set(1, earlier);
        assertRecovered(memories, 2, 2);
    }

    /** Rank 1 fails in its copy when rank 0 has made its own. Step 3 was taken twice, so two generations have it. */
    @Test
    void aSnapshotThatOneRankHasNotCopiedIsNotUsed() {
        List<PeerSnapshots> memories = train(2, 3);
        LocalWorld.run(2, world -> memories.get(world.rank()).take(world, 3, state(world, 3)));
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    StateDict next = state(world, 400);
                    if (world.rank() == 1) {
                        StateDict unreadable = new StateDict().putText("step", "400");
                        next.entries()
                                .forEach(entry -> unreadable.put(new StateEntry(
                                        entry.name(), entry.globalShape(), entry.offsets(), unreadable(entry))));
                        next = unreadable;
                    }
                    memories.get(world.rank()).take(world, 4, next);
                }))
                .hasMessageContaining("lies on no disk");
        assertRecovered(memories, 2, 3);
    }

    /** The second tensor of a state cannot be read. */
    private static Tensor unreadable(StateEntry entry) {
        return entry.name().equals("w")
                ? entry.local()
                : UnreadableTensor.of(Device.CPU, torch.ScalarType.Float, "the tensor lies on no disk")
                        .expand(TensorMemory.sizes(entry.local()));
    }

    @Test
    void aClosedObjectTakesSnapshotsAgain() {
        List<PeerSnapshots> memories = train(2, 2);
        memories.forEach(PeerSnapshots::close);
        memories.forEach(PeerSnapshots::close);
        LocalWorld.run(2, world -> memories.get(world.rank()).take(world, 3, state(world, 3)));
        forget(memories, Set.of(1));
        assertRecovered(memories, 2, 3);
    }

    @Test
    void aStateThatGrowsGetsNewMemory() {
        List<PeerSnapshots> memories = train(2, 2);
        LocalWorld.run(
                2,
                world -> memories.get(world.rank())
                        .take(world, 3, state(world, 3).put("more", torch.ones(100))));
        assertThat(memories).allMatch(PeerSnapshots::holdsTogether);
        forget(memories, Set.of(1));
        assertRecovered(memories, 2, 3);
    }

    private static List<PeerSnapshots> train(int ranks, int steps) {
        return train(LocalWorldOptions.ofSize(ranks), steps);
    }

    private static List<PeerSnapshots> train(LocalWorldOptions options, int steps) {
        List<PeerSnapshots> memories = new ArrayList<>();
        IntStream.range(0, options.size()).forEach(_ -> memories.add(new PeerSnapshots(2)));
        LocalWorld.run(options, world -> {
            PeerSnapshots own = memories.get(world.rank());
            for (int step = 1; step <= steps; step++) {
                own.take(world, step, state(world, step));
            }
        });
        return memories;
    }

    private static void forget(List<PeerSnapshots> memories, Set<Integer> lost) {
        lost.forEach(rank -> memories.set(rank, new PeerSnapshots(2)).close());
    }

    private static void assertRecovered(List<PeerSnapshots> memories, int ranks, int step) {
        LocalWorld.run(ranks, world -> {
            StateDict state = state(world, -1);
            Optional<PeerSnapshots.Recovered> recovered =
                    memories.get(world.rank()).recover(world, state);
            assertThat(recovered).hasValue(new PeerSnapshots.Recovered(step, Map.of("step", step + ".0")));
            ReshardTest.assertEqual(state, state(world, step));
        });
    }
}

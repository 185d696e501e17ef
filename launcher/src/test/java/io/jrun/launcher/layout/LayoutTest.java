package io.jrun.launcher.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LayoutTest {
    private static final Node PLAIN = new Node(0, "a", "127.0.0.1", 4, List.of(), 0);
    private static final Node TWO_GPUS = new Node(0, "a", "127.0.0.1", 8, List.of("0", "1"), 0);
    private static final Node THREE_GPUS = new Node(1, "b", "127.0.0.2", 8, List.of("0", "1", "2"), 0);

    @Test
    void ranksFollowNodesAndLocalRanks() {
        RankMap map = Layout.place(
                List.of(TWO_GPUS, THREE_GPUS),
                new LayoutRules(_ -> new WorkerCount.PerGpu(), GpuVisibility.ONE_BY_DEFAULT));
        assertThat(map.placements())
                .containsExactly(
                        new Placement(0, 0, 0, "a", "0"),
                        new Placement(1, 0, 1, "a", "1"),
                        new Placement(2, 1, 0, "b", "0"),
                        new Placement(3, 1, 1, "b", "1"),
                        new Placement(4, 1, 2, "b", "2"));
        assertThat(map.onNode(1)).extracting(Placement::rank).containsExactly(2, 3, 4);
    }

    @Test
    void ranksAreDealtToNodesInTurn() {
        LayoutRules rules = new LayoutRules(
                nodeRank -> new WorkerCount.Exactly(nodeRank == 0 ? 1 : 3),
                _ -> GpuSubset.ALL,
                GpuVisibility.ONE_BY_DEFAULT,
                MapBy.NODE);
        RankMap map = Layout.place(List.of(TWO_GPUS, THREE_GPUS), rules);
        assertThat(map.placements())
                .containsExactly(
                        new Placement(0, 0, 0, "a", "0"),
                        new Placement(1, 1, 0, "b", "0"),
                        new Placement(2, 1, 1, "b", "1"),
                        new Placement(3, 1, 2, "b", "2"));
        assertThat(map.onNode(1)).extracting(Placement::localRank).containsExactly(0, 1, 2);
    }

    @Test
    void eachNodeWithMoreWorkersThanCoresIsNamed() {
        LayoutRules rules = new LayoutRules(
                nodeRank -> new WorkerCount.Exactly(nodeRank == 0 ? 4 : 9), GpuVisibility.ONE_BY_DEFAULT);
        assertThat(Layout.sharedCores(Layout.place(List.of(PLAIN, THREE_GPUS), rules)))
                .containsExactly("9 workers share the 8 usable cores of b; fewer workers may be faster");
    }

    @Test
    void onlyTheChosenGpusAreUsed() {
        RankMap map = choose(GpuSubset.only(Set.of(2, 0)), GpuVisibility.ONE_BY_DEFAULT);
        assertThat(map.placements()).extracting(Placement::gpu).containsExactly("0", "2");
        map = choose(GpuSubset.without(Set.of(0)), GpuVisibility.ALL);
        assertThat(map.placements()).extracting(Placement::gpu).containsExactly("1,2", "1,2");
        assertThatThrownBy(() -> choose(GpuSubset.only(Set.of(3)), GpuVisibility.ALL))
                .isInstanceOf(LayoutException.class)
                .hasMessage("--include: b has no GPU 3, it has 3 GPUs, counted from 0.");
    }

    private static RankMap choose(GpuSubset gpus, GpuVisibility visibility) {
        return Layout.place(
                List.of(THREE_GPUS), new LayoutRules(_ -> new WorkerCount.PerGpu(), _ -> gpus, visibility, MapBy.SLOT));
    }

    @Test
    void autoTakesGpusBeforeCores() {
        assertThat(place(TWO_GPUS, new WorkerCount.Auto(), GpuVisibility.ALL)).isEqualTo(2);
        assertThat(place(PLAIN, new WorkerCount.Auto(), GpuVisibility.ALL)).isEqualTo(4);
        assertThat(place(TWO_GPUS, new WorkerCount.PerCore(), GpuVisibility.ALL))
                .isEqualTo(8);
    }

    @Test
    void withoutAnOptionEachGpuHasAWorkerAndANodeWithoutGpusHasOne() {
        LayoutRules rules = new LayoutRules(_ -> new WorkerCount.ByDefault(), GpuVisibility.ONE_BY_DEFAULT);
        assertThat(Layout.place(List.of(TWO_GPUS, THREE_GPUS), rules).placements())
                .extracting(Placement::host)
                .containsExactly("a", "a", "b", "b", "b");
        assertThat(place(PLAIN, new WorkerCount.ByDefault(), GpuVisibility.ALL)).isEqualTo(1);
    }

    @Test
    void workersThatNoOptionHasCountedAreReported() {
        LayoutRules rules = new LayoutRules(_ -> new WorkerCount.ByDefault(), GpuVisibility.ONE_BY_DEFAULT);
        RankMap both = Layout.place(List.of(TWO_GPUS, THREE_GPUS), rules);
        String other = ", one for each GPU, by default; --nproc-per-node=N sets another number";
        assertThat(Layout.countedByGpus(both, _ -> true)).contains("2 to 3 workers on each of 2 nodes" + other);
        assertThat(Layout.countedByGpus(both, nodeRank -> nodeRank == 1)).contains("3 workers on b" + other);
        assertThat(Layout.countedByGpus(both, _ -> false)).isEmpty();
        assertThat(Layout.countedByGpus(Layout.place(List.of(PLAIN), rules), _ -> true))
                .isEmpty();
    }

    @Test
    void workersShareGpusInTurnUnlessOneGpuForEachWasRequested() {
        RankMap shared = Layout.place(
                List.of(TWO_GPUS), new LayoutRules(_ -> new WorkerCount.Exactly(3), GpuVisibility.ONE_BY_DEFAULT));
        assertThat(shared.placements()).extracting(Placement::gpu).containsExactly("0", "1", "0");
        assertThatThrownBy(() -> place(TWO_GPUS, new WorkerCount.Exactly(3), GpuVisibility.ONE))
                .hasMessage("--gpu-visibility one: 3 workers on a, which has 2 GPUs. Lower --nproc-per-node, or use"
                        + " --gpu-visibility all.");
    }

    @Test
    void unrequestedSharingIsReported() {
        assertThat(sharing(TWO_GPUS, 5, GpuVisibility.ONE_BY_DEFAULT))
                .containsExactly("5 workers share the 2 GPUs of a, up to 3 on each (local ranks 0 and 2 on GPU 0);"
                        + " --nproc-per-node=gpu starts one per GPU, --gpu-visibility=all shows every worker all"
                        + " of them");
        assertThat(sharing(TWO_GPUS, 2, GpuVisibility.ONE_BY_DEFAULT)).isEmpty();
        assertThat(sharing(PLAIN, 5, GpuVisibility.ONE_BY_DEFAULT)).isEmpty();
        assertThat(sharing(TWO_GPUS, 5, GpuVisibility.ALL)).isEmpty();
    }

    @Test
    void gpuWithoutAGpuIsRefused() {
        assertThatThrownBy(() -> place(PLAIN, new WorkerCount.PerGpu(), GpuVisibility.ONE_BY_DEFAULT))
                .isInstanceOf(LayoutException.class)
                .hasMessage("--nproc-per-node gpu: a has no GPU that jrun can see. Use a number, cpu or auto.");
    }

    @Test
    void workersThatSeeAllGpusHaveNoneOfTheirOwn() {
        RankMap map =
                Layout.place(List.of(TWO_GPUS), new LayoutRules(_ -> new WorkerCount.Exactly(2), GpuVisibility.ALL));
        assertThat(map.placements()).extracting(Placement::gpu).containsOnly("");
    }

    private static List<String> sharing(Node node, int workers, GpuVisibility visibility) {
        RankMap map = Layout.place(List.of(node), new LayoutRules(_ -> new WorkerCount.Exactly(workers), visibility));
        return Layout.sharedDevices(map, visibility);
    }

    private static int place(Node node, WorkerCount count, GpuVisibility visibility) {
        return Layout.place(List.of(node), new LayoutRules(_ -> count, visibility))
                .worldSize();
    }
}

package io.jrun.launcher.layout;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class MeshPlacesTest {
    private static final List<Node> NODES =
            List.of(new Node(0, "a", "127.0.0.1", 4, List.of(), 0), new Node(1, "b", "127.0.0.2", 4, List.of(), 0));

    private static RankMap ranks(int perNode, MapBy mapBy) {
        return Layout.place(
                NODES,
                new LayoutRules(_ -> new WorkerCount.Exactly(perNode), _ -> GpuSubset.ALL, GpuVisibility.ALL, mapBy));
    }

    /** The warning after the report of the last rank of a mesh with neighbours along tp; earlier ones are empty. */
    private static Optional<String> afterAll(MeshPlaces places, RankMap ranks, int tp) {
        Optional<String> warning = Optional.empty();
        for (int rank = 0; rank < ranks.worldSize(); rank++) {
            assertThat(warning).isEmpty();
            warning = places.put(rank, "dp=" + rank / tp + " tp=" + rank % tp, ranks);
        }
        return warning;
    }

    @Test
    void groupsOnOneNodeAreNoWarning() {
        MeshPlaces places = new MeshPlaces();
        assertThat(afterAll(places, ranks(4, MapBy.SLOT), 2)).isEmpty();
        assertThat(places.of(3)).isEqualTo("dp=1 tp=1");
        places.clear();
        assertThat(places.of(3)).isEmpty();
    }

    @Test
    void aSplitGroupIsOneWarningThatSaysTheCost() {
        MeshPlaces places = new MeshPlaces();
        RankMap byNode = ranks(2, MapBy.NODE);
        assertThat(afterAll(places, byNode, 2).orElseThrow())
                .startsWith("warning: 2 of 2 tensor parallel groups are on several nodes, such as the ranks 0, 1 on a"
                        + " and b.")
                .contains("4 all-reduces")
                .endsWith("Use --map-by=slot and a multiple of 2 workers on each node.");
        assertThat(places.put(0, "dp=0 tp=0", byNode)).isEmpty();
        assertThat(afterAll(new MeshPlaces(), ranks(3, MapBy.SLOT), 2).orElseThrow())
                .startsWith("warning: 1 of 3 tensor parallel groups are on several nodes, such as the ranks 2, 3 on a"
                        + " and b.");
    }

    /** Arguments of the program do not count, and an axis of another name shares no layers. */
    @Test
    void ranksWithoutTensorParallelismAreNoWarning() {
        MeshPlaces places = new MeshPlaces();
        RankMap byNode = ranks(1, MapBy.NODE);
        assertThat(places.put(0, "dp=0 tpu=0", byNode)).isEmpty();
        assertThat(places.put(1, "dp=0 tpu=1", byNode)).isEmpty();
    }
}

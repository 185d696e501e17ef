package io.jrun.launcher.layout;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.List;
import org.junit.jupiter.api.Test;

class TensorParallelGroupsTest {
    private static final List<Node> NODES =
            List.of(new Node(0, "a", "127.0.0.1", 4, List.of(), 0), new Node(1, "b", "127.0.0.2", 4, List.of(), 0));

    private static RankMap ranks(int perNode, MapBy mapBy) {
        return Layout.place(
                NODES,
                new LayoutRules(_ -> new WorkerCount.Exactly(perNode), _ -> GpuSubset.ALL, GpuVisibility.ALL, mapBy));
    }

    @Test
    void theProgramsOwnOptionHasTheSize() {
        assertThat(TensorParallelGroups.of(List.of("--steps", "3", "--tp=4"))).contains(new TensorParallelGroups(4));
        assertThat(TensorParallelGroups.of(List.of("--tp", "2"))).contains(new TensorParallelGroups(2));
        assertThat(TensorParallelGroups.of(List.of("--tp=1"))).isEmpty();
        assertThat(TensorParallelGroups.of(List.of("--tp"))).isEmpty();
        assertThat(TensorParallelGroups.of(List.of("--tpu=4"))).isEmpty();
    }

    @Test
    void neighboursAreOnOneNode() {
        assertThat(new TensorParallelGroups(2).describe(ranks(4, MapBy.SLOT)))
                .isEqualTo("tensor parallel: 4 groups of 2 ranks, each on one node");
        assertThat(new TensorParallelGroups(2).warning(ranks(4, MapBy.SLOT))).isEmpty();
    }

    @Test
    void aSplitGroupIsAWarningThatSaysTheCost() {
        assertThat(new TensorParallelGroups(2).describe(ranks(2, MapBy.NODE)))
                .startsWith(
                        "warning: 2 of 2 tensor parallel groups are on several nodes, such as ranks 0 to 1 on a and b.")
                .contains("4 all-reduces")
                .endsWith("Use --map-by=slot and a multiple of 2 workers on each node.");
        assertThat(new TensorParallelGroups(2).describe(ranks(3, MapBy.SLOT)))
                .startsWith(
                        "warning: 1 of 3 tensor parallel groups are on several nodes, such as ranks 2 to 3 on a and b.");
    }

    @Test
    void aSizeThatDoesNotDivideTheRanksIsAWarning() {
        assertThat(new TensorParallelGroups(4).describe(ranks(3, MapBy.SLOT)))
                .isEqualTo("warning: --tp=4 does not divide the 6 ranks of this job. Start a multiple of 4 ranks.");
    }
}

package io.jrun.comm.backend;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.RankLocator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WorldContextTest {
    private static WorldContext world(int rank, int... nodeOfRank) {
        return worldOn(1, rank, nodeOfRank);
    }

    private static WorldContext worldOn(int nodeCores, int rank, int... nodeOfRank) {
        List<Peer> peers = IntStream.range(0, nodeOfRank.length)
                .mapToObj(each -> new Peer(each, nodeOfRank[each], 0, "host" + nodeOfRank[each], "127.0.0.1", 0, 1))
                .toList();
        return new WorldContext(
                "run", 0, rank, Bytes.EMPTY, peers, Optional.empty(), RankLocator.NONE, nodeCores, PausePoint.NONE);
    }

    @Test
    void ranksOfThisNodeCount() {
        assertThat(world(0, 0, 0, 0, 1).localRanks()).isEqualTo(3);
        assertThat(world(3, 0, 0, 0, 1).localRanks()).isEqualTo(1);
    }

    @Test
    void spinningNeedsACoreOfTheNodeForEachOfThem() {
        int more = 2 * WorldContext.usableCores();
        assertThat(worldOn(more, 0, new int[more]).hasCoreForEachLocalRank()).isTrue();
        assertThat(worldOn(more, 0, new int[more + 1]).hasCoreForEachLocalRank())
                .isFalse();
    }
}

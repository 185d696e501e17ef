package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory that all ranks of a group have mapped, and that outlives the group. */
class CommonMemoryTest {
    private static final long ROOM_OF_NO_MACHINE = 1L << 60;

    private static LocalWorldOptions ranks(int size, TransportKind transport) {
        return LocalWorldOptions.ofSize(size).withTransport(transport);
    }

    /** Odd sizes, one of them 0. Rank r fills its memory with r + 1. */
    @Test
    void aRankKeepsTheMemoryOfRanksThatHaveLeft() {
        Map<Integer, List<MemorySegment>> kept = new ConcurrentHashMap<>();
        List<Arena> arenas = List.of(Arena.ofShared(), Arena.ofShared(), Arena.ofShared());
        LocalWorld.run(ranks(3, TransportKind.SHM), world -> {
            ProcessGroup group = world.group();
            int rank = world.rank();
            List<MemorySegment> byRank =
                    group.allocateShared(rank * 1237L, arenas.get(rank)).orElseThrow();
            assertThat(byRank.get(rank)
                            .mismatch(Arena.ofAuto().allocate(byRank.get(rank).byteSize())))
                    .as("zeroed")
                    .isEqualTo(-1);
            byRank.get(rank).fill((byte) (rank + 1));
            group.barrier();
            kept.put(rank, byRank);
            assertThat(group.allocate(100).byteSize()).isEqualTo(100);
            assertNoNames(world);
        });
        arenas.get(0).close();
        arenas.get(2).close();
        List<MemorySegment> ofRank1 = Objects.requireNonNull(kept.get(1));
        for (int rank = 1; rank < 3; rank++) {
            MemorySegment memory = ofRank1.get(rank);
            assertThat(memory.byteSize()).isEqualTo(rank * 1237L);
            assertThat(memory.address() % 64).isZero();
            assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(rank + 1);
        }
        arenas.get(1).close();
        MemorySegment freed = ofRank1.get(2);
        assertThatThrownBy(() -> freed.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void ranksOfSeveralNodesHaveNoCommonMemory() {
        LocalWorld.run(LocalWorldOptions.ofNodes(List.of(2, 1)), world -> {
            assertThat(world.group().allocateShared(64, Arena.ofAuto())).isEmpty();
            world.group().barrier();
        });
    }

    @Test
    void ranksOverTcpHaveNoCommonMemory() {
        LocalWorld.run(
                ranks(2, TransportKind.TCP),
                world -> assertThat(world.group().allocateShared(64, Arena.ofAuto()))
                        .isEmpty());
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aRankAloneHasMemory(TransportKind transport) {
        LocalWorld.run(
                ranks(1, transport),
                world -> assertThat(world.group().allocateShared(5, Arena.ofAuto()))
                        .hasValueSatisfying(byRank -> assertThat(byRank)
                                .extracting(MemorySegment::byteSize)
                                .containsExactly(5L)));
    }

    /** All ranks get the same answer, and the group works. */
    @Test
    void ifOneRankHasTooLittleRoomNoRankGetsMemory() {
        LocalWorld.run(ranks(2, TransportKind.SHM), world -> {
            ProcessGroup group = world.group();
            long bytes = world.rank() == 1 ? ROOM_OF_NO_MACHINE : 64;
            assertThat(group.allocateShared(bytes, Arena.ofAuto())).isEmpty();
            assertNoNames(world);
            assertThat(group.allocateShared(64, Arena.ofAuto())).isPresent();
            assertThatThrownBy(() -> group.allocateShared(-1, Arena.ofAuto()))
                    .hasMessageContaining("allocateShared: -1 bytes (expected 0 or more)");
            Arena closed = Arena.ofShared();
            closed.close();
            assertThatThrownBy(() -> group.allocateShared(1, closed))
                    .hasMessageContaining("allocateShared: the arena is closed");
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void anotherAllocationOfAnotherRankIsAMismatch(TransportKind transport) {
        LocalWorld.run(ranks(2, transport), world -> {
            ProcessGroup group = world.group();
            assertThatThrownBy(() -> {
                        if (world.rank() == 0) {
                            group.allocate(0);
                        } else {
                            group.allocateShared(64, Arena.ofAuto());
                            group.barrier();
                        }
                    })
                    .isInstanceOfSatisfying(
                            CommException.class,
                            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH));
        });
    }

    private static void assertNoNames(World world) throws IOException {
        world.group().barrier();
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(world.runId()));
        }
        world.group().barrier();
    }
}

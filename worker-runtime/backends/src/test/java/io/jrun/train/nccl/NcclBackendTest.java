package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of NCCL that need no GPU, and tests of the operations on machines with two GPUs. */
@Timeout(180)
class NcclBackendTest {
    private static final int COUNT = 1000;

    /** The offsets that a C compiler gives nccl.h 2.18's ncclConfig_t on a 64-bit machine. */
    @Test
    void configurationLiesInMemoryAsTheHeaderSays() {
        assertThat(NcclConfig.LAYOUT.byteSize()).isEqualTo(48);
        assertThat(NcclConfig.offset("magic")).isEqualTo(8);
        assertThat(NcclConfig.offset("version")).isEqualTo(12);
        assertThat(NcclConfig.offset("blocking")).isEqualTo(16);
        assertThat(NcclConfig.offset("netName")).isEqualTo(32);
        assertThat(NcclConfig.offset("splitShare")).isEqualTo(40);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment config = NcclConfig.nonBlocking(arena);
            assertThat(config.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(48);
            assertThat(config.get(ValueLayout.JAVA_INT, 8)).isEqualTo(0xcafebeef);
            assertThat(config.get(ValueLayout.JAVA_INT, 16)).isZero();
            assertThat(config.get(ValueLayout.JAVA_INT, 20)).isEqualTo(Integer.MIN_VALUE);
            assertThat(config.get(ValueLayout.JAVA_LONG, 32)).isZero();
        }
        assertThat(Nccl.UNIQUE_ID.byteSize()).isEqualTo(128);
        assertThat(Cuda.POINTER_ATTRIBUTES.byteSize()).isEqualTo(88);
    }

    @Test
    void everyTypeHasANumberOfItsOwn() {
        assertThat(NcclTypes.type(DataType.F32)).isEqualTo(7);
        assertThat(NcclTypes.type(DataType.BF16)).isEqualTo(9);
        long numbers =
                Arrays.stream(DataType.values()).map(NcclTypes::type).distinct().count();
        assertThat(numbers).isEqualTo(DataType.values().length - 1L); // a truth value is a byte
    }

    @Test
    void aMissingLibraryIsOneLineWithTheRemedy() {
        Optional<String> reason = new NcclProvider().unavailableReason();
        assumeTrue(reason.isPresent(), "NCCL can be used here: there is nothing missing to be told of");
        assertThat(reason.get()).doesNotContain("\n").containsAnyOf("jrun cuda install", "nvidia-smi");
        LocalWorld.run(
                2,
                world -> assertThatThrownBy(() -> world.group()
                                .split(0, world.rank(), world.group().options().withBackend("nccl")))
                        .isInstanceOfSatisfying(
                                CommException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.USAGE))
                        .hasMessage("backend nccl cannot be used here: " + reason.get()));
    }

    @Test
    void unknownBackendNamesThoseThereAre() {
        LocalWorld.run(
                2,
                world -> assertThatThrownBy(() -> world.group()
                                .split(0, world.rank(), world.group().options().withBackend("mvapich")))
                        .isInstanceOfSatisfying(
                                CommException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.USAGE))
                        .hasMessage("unknown backend 'mvapich' (expected one of jrun, gloo, mpi, nccl)"));
    }

    /** Ready to run where there are GPUs: two ranks as threads, each on a GPU of its own. */
    @Test
    void reducesAndMovesOnGpus() {
        Optional<String> reason = new NcclProvider().unavailableReason();
        assumeTrue(reason.isEmpty(), () -> "skipped: " + reason.get());
        assumeTrue(Cuda.open().devices() >= 2, "skipped: NCCL takes a GPU for each rank, and this process sees one");
        LocalWorld.run(2, world -> {
            try (ProcessGroup group =
                    world.group().split(0, world.rank(), world.group().options().withBackend("nccl"))) {
                int rank = world.rank();
                MemorySegment pinned = group.allocate(COUNT * (long) Float.BYTES);
                fill(pinned, rank + 1);
                group.allReduce(pinned, DataType.F32, COUNT, ReduceOp.SUM);
                assertThat(pinned.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(3f);

                MemorySegment mine = MemorySegment.ofArray(new float[COUNT]);
                fill(mine, rank + 1);
                MemorySegment other = MemorySegment.ofArray(new float[COUNT]);
                Work sent = group.sendAsync(mine, DataType.F32, COUNT, 1 - rank);
                group.recv(other, DataType.F32, COUNT, 1 - rank);
                sent.await(Duration.ofSeconds(30));
                assertThat(other.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(2f - rank);

                MemorySegment all = MemorySegment.ofArray(new float[2 * COUNT]);
                group.allGather(mine, all, DataType.F32, COUNT);
                assertThat(all.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(1f, 2f);
                MemorySegment turned = MemorySegment.ofArray(new float[2 * COUNT]);
                group.allToAll(all, turned, DataType.F32, COUNT);
                assertThat(turned.toArray(ValueLayout.JAVA_FLOAT)).containsOnly(rank + 1f);
                MemorySegment uneven = MemorySegment.ofArray(new float[COUNT + 1]);
                group.allGatherV(
                        mine.asSlice(0, rank == 0 ? Float.BYTES : COUNT * (long) Float.BYTES),
                        uneven,
                        DataType.F32,
                        1,
                        COUNT);
                assertThat(uneven.toArray(ValueLayout.JAVA_FLOAT))
                        .startsWith(1f, 2f)
                        .endsWith(2f);
                group.barrier();
                assertThatThrownBy(() -> group.allReduce(mine, DataType.F32, COUNT - rank, ReduceOp.SUM))
                        .hasMessageContaining("called allReduce #6(f32, " + COUNT + ", SUM)")
                        .hasMessageContaining("called allReduce #6(f32, " + (COUNT - 1) + ", SUM)");
            }
        });
    }

    private static void fill(MemorySegment buffer, float value) {
        for (int i = 0; i < COUNT; i++) {
            buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, i * (long) Float.BYTES, value);
        }
    }
}

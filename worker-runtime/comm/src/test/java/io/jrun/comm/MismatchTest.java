package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rank 1 makes a call that differs in one argument. All ranks report a mismatch, on every data plane. */
@Timeout(120)
class MismatchTest {
    private static final int COUNT = 6;

    /** The one thing. */
    enum Difference {
        KIND {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                if (isOther) {
                    group.broadcast(ints(), DataType.I32, COUNT, 0);
                } else {
                    group.allReduce(ints(), DataType.I32, COUNT, ReduceOp.SUM);
                }
            }
        },
        TYPE {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                group.allReduce(ints(), isOther ? DataType.F32 : DataType.I32, COUNT, ReduceOp.SUM);
            }
        },
        REDUCTION {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                group.allReduce(ints(), DataType.I32, COUNT, isOther ? ReduceOp.MAX : ReduceOp.SUM);
            }
        },
        COUNT_OF_ELEMENTS {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                group.allReduce(ints(), DataType.I32, isOther ? COUNT - 1 : COUNT, ReduceOp.SUM);
            }
        },
        ROOT {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                group.broadcast(ints(), DataType.I32, COUNT, isOther ? 1 : 0);
            }
        },
        /** A call with the same number of elements, so that nothing else differs. */
        BLOCKS {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                MemorySegment all = MemorySegment.ofArray(new int[COUNT * group.size()]);
                if (isOther) {
                    group.allGatherV(ints(), all, DataType.I32, 2, 2, 2);
                } else {
                    group.allGather(ints(), all, DataType.I32, COUNT);
                }
            }
        },
        DETERMINISM {
            @Override
            void run(ProcessGroup group, boolean isOther) {
                GroupOptions options = group.options().withDeterministic(isOther);
                ProcessGroup odd = group.newGroup(List.of(0, 1, 2), options);
                odd.allReduce(MemorySegment.ofArray(new float[COUNT]), DataType.F32, COUNT, ReduceOp.SUM);
                odd.barrier();
            }
        };

        abstract void run(ProcessGroup group, boolean isOther);

        private static MemorySegment ints() {
            return MemorySegment.ofArray(new int[COUNT]);
        }
    }

    @ParameterizedTest
    @EnumSource
    void failsOnAllRanks(Difference difference) {
        for (LocalWorldOptions plane : List.of(
                LocalWorldOptions.ofSize(3).withTransport(TransportKind.SHM),
                LocalWorldOptions.ofSize(3).withTransport(TransportKind.TCP),
                LocalWorldOptions.ofNodes(List.of(2, 1)))) {
            Map<Integer, CommException> failures = new ConcurrentHashMap<>();
            LocalWorld.run(plane.withTimeout(Duration.ofSeconds(10)), world -> {
                try {
                    world.group().barrier();
                    difference.run(world.group(), world.rank() == 1);
                    world.group().barrier(); // A rank that had no frame to compare gets the failure here.
                } catch (CommException failure) {
                    failures.put(world.rank(), failure);
                }
            });
            assertThat(failures)
                    .as(difference + ", " + plane)
                    .hasSize(3)
                    .allSatisfy((_, failure) -> assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH));
            assertThat(failures.values().stream().map(CommException::getMessage).distinct())
                    .as(difference + ", " + plane)
                    .hasSize(1);
            if (difference == Difference.COUNT_OF_ELEMENTS) {
                assertThat(failures.values().iterator().next())
                        .as(plane.toString())
                        .hasMessageContaining(" called allReduce #1(i32, " + COUNT + ", SUM)")
                        .hasMessageContaining(" called allReduce #1(i32, " + (COUNT - 1) + ", SUM)");
            }
        }
    }
}

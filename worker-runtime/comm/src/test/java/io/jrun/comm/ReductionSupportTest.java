package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReductionSupportTest {
    private static final String BITWISE = " is not defined (expected one of i8 u8 i32 i64 bool)";

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void undefinedReductionsAreRefusedBeforeTheGroupIsUsed(TransportKind transport) {
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(2).withTransport(transport).withTimeout(Duration.ofSeconds(60));
        LocalWorld.run(options, world -> {
            ProcessGroup group = world.group();
            MemorySegment data = MemorySegment.ofArray(new byte[64]);
            MemorySegment output = MemorySegment.ofArray(new byte[64]);

            refused(() -> group.allReduce(data, DataType.F32, 4, ReduceOp.BAND), "allReduce: BAND of f32" + BITWISE);
            refused(() -> group.allReduceAsync(data, DataType.F16, 4, ReduceOp.BOR), "allReduce: BOR of f16" + BITWISE);
            refused(() -> group.reduce(data, DataType.BF16, 4, ReduceOp.BXOR, 1), "reduce: BXOR of bf16" + BITWISE);
            refused(
                    () -> group.reduceScatter(data, output, DataType.F64, 4, ReduceOp.BAND),
                    "reduceScatter: BAND of f64" + BITWISE);
            refused(
                    () -> group.allReduce(data, DataType.BOOL, 4, ReduceOp.AVG),
                    "allReduce: AVG of bool is not defined (expected one of f16 bf16 f32 f64 i8 u8 i32 i64)");

            // The group is as good as before, and counts on from the same operation.
            data.set(ValueLayout.JAVA_BYTE, 0, (byte) (1 + world.rank()));
            group.allReduce(data, DataType.I8, 1, ReduceOp.SUM);
            assertThat(data.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 3);
        });
    }

    private static void refused(Runnable call, String message) {
        Consumer<Throwable> isUsage =
                e -> assertThat(((CommException) e).code()).isEqualTo(ErrorCode.USAGE);
        assertThatThrownBy(call::run).hasMessage(message).satisfies(isUsage::accept);
    }
}

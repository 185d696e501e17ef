package io.jrun.comm;

import io.jrun.comm.CollectiveMatrix.Buffers;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.time.Duration;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@ExtendWith(StopAfterFailure.class)
class ShmCollectivesTest {
    private static Stream<Arguments> sizesAndBuffers() {
        return Seeds.sample(
                IntStream.rangeClosed(1, 5)
                        .boxed()
                        .flatMap(size -> Stream.of(Buffers.values()).map(buffers -> Arguments.of(size, buffers)))
                        .toList(),
                7)
                .stream();
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @MethodSource("sizesAndBuffers")
    void everyOperationIsExact(int size, Buffers buffers) {
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(size).withTransport(TransportKind.SHM).withTimeout(Duration.ofSeconds(20));
        LocalWorld.run(options, world -> CollectiveMatrix.run(world, buffers));
    }
}

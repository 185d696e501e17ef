package io.jrun.comm.hierarchy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.tcp.TcpOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PipelineChunksTest {
    private static final long KIB = 1 << 10;

    @ParameterizedTest(name = "{0} columns, {1} nodes, {2} connections: {3} KiB")
    @CsvSource({
        "1, 2, 1, 8192",
        "2, 2, 2, 8192",
        "8, 2, 1, 8192",
        "8, 2, 2, 16384",
        "8, 64, 1, 32768",
        "8, 64, 2, 32768"
    })
    void piecesGrowWithTheWorldAndTheConnections(int columns, int nodes, int connections, long kib) {
        TcpOptions options = TcpOptions.DEFAULT.withConnections(connections);

        assertThat(PipelineChunks.bytes(options, columns, nodes)).isEqualTo(kib * KIB);
    }

    @Test
    void aGivenSizeHoldsForAnyWorld() {
        TcpOptions options = TcpOptions.DEFAULT.withPieceBytes(4 * KIB).withConnections(2);

        assertThat(PipelineChunks.bytes(options, 8, 64)).isEqualTo(4 * KIB);
    }

    @Test
    void anUnusableSizeIsAnError() {
        assertThatThrownBy(() -> TcpOptions.DEFAULT.withPieceBytes(4 * KIB - 1))
                .isInstanceOfSatisfying(
                        CommException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.USAGE))
                .hasMessage("JRUN_PIECE_BYTES is 4095 (expected 4096 or more)");
    }
}

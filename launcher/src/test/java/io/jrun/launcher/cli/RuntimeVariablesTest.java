package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RuntimeVariablesTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void folder() throws IOException {
        requests = new Requests(folder);
    }

    @ParameterizedTest
    @CsvSource({
        "JRUN_TIMEOUT_SECONDS, 0",
        "JRUN_TIMEOUT_SECONDS, 2147483648",
        "JRUN_TIMEOUT_SECONDS, NaN",
        "JRUN_LATE_WARNING_SECONDS, -1",
        "JRUN_LATE_WARNING_SECONDS, 0.5",
        "JRUN_CONNECTIONS, 17",
        "JRUN_PIECE_BYTES, 1e9",
        "JRUN_DETERMINISTIC, 2"
    })
    void aNumberThatEachRankWouldRefuseIsRefusedBeforeTheJob(String name, String value) {
        requests.with(name, value);

        assertThatThrownBy(() -> requests.job())
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith(name + ": '" + value + "' is not usable; give a whole number");
    }

    @Test
    void anEmptyVariableIsNoVariable() {
        assertThat(requests.with("JRUN_TIMEOUT_SECONDS", "").job().workers().container())
                .isEmpty();
    }
}

package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import org.junit.jupiter.api.Test;

/** The numbers need a GPU. The version of libtorch does not. */
class AllocatorStatisticsTest {
    /** A new version of the presets needs another look at the layout. */
    @Test
    void theLayoutIsThatOfTheLibtorchOfThisProject() {
        Libtorch.load();
        assertThatCode(() -> AllocatorStatistics.requireKnownVersion(AllocatorStatistics.buildSettings()))
                .doesNotThrowAnyException();
    }

    @Test
    void noNumberIsReadFromAnotherLibtorch() {
        assertThatThrownBy(() -> AllocatorStatistics.requireKnownVersion("Build settings: TORCH_VERSION=2.11.0, "))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("known for TORCH_VERSION=2.10. only")
                .hasMessageEndingWith("TORCH_VERSION=2.11.0, ");
    }
}

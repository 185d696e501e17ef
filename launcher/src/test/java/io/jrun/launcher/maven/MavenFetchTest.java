package io.jrun.launcher.maven;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MavenFetchTest {
    @Test
    void theLastReportOfMavenIsTheProgress() {
        String log = "[INFO] Copying\rProgress (1): 0.1/458 MB\rProgress (1): 12/458 MB   \r";

        assertThat(MavenFetch.transferred(log)).isEqualTo("12/458 MB, ");
        assertThat(MavenFetch.transferred("Progress (1): pytorch-2.jar (3.5/458 MB)\r"))
                .isEqualTo("3.5/458 MB, ");
        assertThat(MavenFetch.transferred("[INFO] Copying")).isEmpty();
    }
}

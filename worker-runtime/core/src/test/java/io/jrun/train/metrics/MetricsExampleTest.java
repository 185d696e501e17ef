package io.jrun.train.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the package's page. */
class MetricsExampleTest {
    @TempDir
    Path folder;

    @Test
    void eachStepIsReported() throws IOException {
        try (World world = Distributed.init();
                var events = TensorBoardWriter.open(folder)) {
            Map<String, Double> report = MetricsExample.train(world, events, 20);
            assertThat(report)
                    .containsKeys("step_seconds", "forward_seconds", "backward_seconds", "optimizer_seconds")
                    .containsEntry("planned_steps", 20.0);
            assertThat(report.get("loss")).isBetween(0.0, 0.01);
            assertThat(Files.size(events.file())).isGreaterThan(20 * 100);
        }
    }
}

package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.json.JsonReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class CheckReportTest {
    @Test
    void eachCheckIsOneObjectThatAnyReaderOfJsonTakes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            LocalWorld.run(2, world -> {
                CheckReport report = new CheckReport(world, true);
                report.check("passes", () -> "C:\\x \"quoted\"\n\ttab");
                report.check("fails", () -> {
                    if (world.rank() == 1) {
                        throw new IllegalStateException("broken");
                    }
                    return "fine";
                });
                assertThat(report.hasFailed()).isTrue();
            });
        } finally {
            System.setOut(before);
        }
        String[] lines = bytes.toString(StandardCharsets.UTF_8).split("\n");
        assertThat(lines).hasSize(2);
        assertThat(JsonReader.readObject(lines[0]))
                .containsEntry("status", "PASS")
                .containsEntry("detail", "rank 0: C:\\x \"quoted\"\n\ttab; rank 1: C:\\x \"quoted\"\n\ttab");
        assertThat(JsonReader.readObject(lines[1]))
                .containsEntry("check", "fails")
                .containsEntry("status", "FAIL")
                .containsEntry("detail", "rank 1: java.lang.IllegalStateException: broken");
    }
}

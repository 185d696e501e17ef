package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class HelpTextTest {
    @Test
    void helpIsAsReviewed() throws IOException {
        try (var golden = Objects.requireNonNull(HelpTextTest.class.getResourceAsStream("help.txt"))) {
            assertThat(HelpText.full()).isEqualTo(new String(golden.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void helpNamesEveryOptionWithItsVariables() {
        String help = HelpText.full();
        assertThat(Arrays.asList(LaunchOption.values())).allSatisfy(option -> {
            assertThat(help).contains(option.longName());
            option.jrunVariable().ifPresent(variable -> assertThat(help).contains(variable));
            option.torchVariable().ifPresent(variable -> assertThat(help).contains(variable));
        });
    }

    @Test
    void completionKnowsOptionsAndSubCommands() {
        assertThat(HelpText.completion()).contains("--nproc-per-node", "--gpu-visibility", "version", "bench");
    }
}

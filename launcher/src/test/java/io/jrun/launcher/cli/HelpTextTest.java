package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HelpTextTest {
    @Test
    void helpIsAsReviewed() throws IOException {
        try (var golden = Objects.requireNonNull(HelpTextTest.class.getResourceAsStream("help.txt"))) {
            assertThat(HelpText.full()).isEqualTo(new String(golden.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    /** man(1) accepts each page, and the page has every option. */
    @Test
    void manualPagesHaveEveryOption() {
        String whole = HelpText.manual(Optional.empty(), "1.0");
        assertThat(whole).startsWith(".TH \"JRUN\" 1 \"\" \"jrun 1.0\"");
        for (LaunchOption option : LaunchOption.values()) {
            assertThat(whole).contains(option.longName().replace("-", "\\-"));
        }
        for (SubCommand command : SubCommand.values()) {
            assertThat(whole).contains(".BR jrun\\-" + command.word().replace("-", "\\-") + " (1)");
            String page = HelpText.manual(Optional.of(command), "1.0");
            for (CommandLineOption option : command.ownOptions()) {
                assertThat(page).contains(option.longName().replace("-", "\\-"));
            }
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
    void briefHelpFitsAScreen() {
        String brief = HelpText.brief();
        assertThat(brief).startsWith("Usage: jrun [options] PROGRAM [args...]\n       jrun COMMAND [options]\n");
        assertThat(brief.lines()).hasSizeLessThanOrEqualTo(48).allMatch(line -> line.length() < 100);
        assertThat(brief.lines().filter(line -> line.startsWith("  jrun "))).hasSize(3);
        assertThat(brief.lines().filter(line -> line.startsWith("      --"))).hasSize(8);
        assertThat(brief).contains(SubCommand.names()).endsWith("'jrun help COMMAND' those of a command.\n");
    }

    @Test
    void linesOfTheWholeHelpFitAndBreakAtBlanks() {
        assertThat(HelpText.full().lines())
                .allMatch(line -> line.length() < 110)
                .anyMatch(line -> line.contains("gpu[01-04,07]:8"))
                .anyMatch(line -> line.contains("~/.config/jrun/secret"));
    }
}

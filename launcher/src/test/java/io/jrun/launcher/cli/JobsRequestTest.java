package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.cli.JobsRequest.Flag;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JobsRequestTest {
    private static JobsRequest parse(SubCommand command, String words) {
        return JobsRequest.parse(command, words.isEmpty() ? List.of() : List.of(words.split(" ", -1)));
    }

    @Test
    void wordsAreTaken() {
        JobsRequest logs = parse(SubCommand.LOGS, "-f --rank 0,2-3 nightly");
        assertThat(logs.job()).isEqualTo("nightly");
        assertThat(logs.has(Flag.FOLLOW)).isTrue();
        assertThat(logs.ranks()).contains(Set.of(0, 2, 3));
        assertThat(parse(SubCommand.LOGS, "nightly --rank=1").ranks()).contains(Set.of(1));
        assertThat(parse(SubCommand.PS, "-a --json").flags()).containsExactlyInAnyOrder(Flag.ALL, Flag.JSON);
        assertThat(parse(SubCommand.CANCEL, "nightly --now").has(Flag.NOW)).isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            PS     | x        | 'x' is one word too many; usage: jrun ps [-a] [--json].
            LOGS   | --now x  | unknown option '--now'; usage: jrun logs JOB [-f] [--rank=RANKS].
            CANCEL | x y      | 'y' is one word too many; usage: jrun cancel JOB [--now].
            STACK  | --rank=x | --rank: 'x' is not usable; give ranks like 0,2-5.
            """)
    void whatIsWrongIsSaidInOneLine(SubCommand command, String words, String message) {
        assertThatThrownBy(() -> parse(command, words))
                .isInstanceOf(UsageException.class)
                .hasMessage(message);
    }

    @Test
    void aJobMustBeNamed() {
        assertThatThrownBy(() -> parse(SubCommand.ATTACH, ""))
                .hasMessage("JOB is missing; usage: jrun attach JOB. 'jrun ps' shows the jobs.");
        assertThat(JobsRequest.help(SubCommand.LOGS))
                .startsWith("Usage: jrun logs JOB [-f] [--rank=RANKS]\n")
                .contains("JOB  ", "-f, --follow", "--rank=RANKS");
    }
}

package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ParsedCommandTest {
    private static ParsedCommand parse(String line) {
        return ParsedCommand.of(List.of(line.split(" ", -1)));
    }

    @Test
    void optionsOfACommandStandAnywhere() {
        JobsRequest logs = JobsRequest.of(SubCommand.LOGS, parse("logs -f --rank 0,2-3 nightly"));
        assertThat(logs.job()).isEqualTo("nightly");
        assertThat(logs.has(CommandOption.FOLLOW)).isTrue();
        assertThat(logs.ranks()).contains(Set.of(0, 2, 3));
        assertThat(JobsRequest.of(SubCommand.LOGS, parse("logs nightly --rank=1"))
                        .ranks())
                .contains(Set.of(1));
        assertThat(JobsRequest.of(SubCommand.LOGS, parse("logs nightly --rank=2147483645-2147483647"))
                        .ranks()
                        .orElseThrow())
                .hasSize(3);
        assertThat(parse("ps -a --json").options()).containsOnlyKeys(CommandOption.ALL, CommandOption.JSON);
        assertThat(parse("cancel nightly --now").has(CommandOption.NOW)).isTrue();
    }

    @Test
    void aValueMayBeginAsAnOptionDoes() {
        ParsedCommand line = parse("--ssh-options=-t --jvm-opts=-verbose:gc --jvm-opts -Xmx1g -r=3 -t1 x");
        assertThat(line.options())
                .containsEntry(LaunchOption.SSH_OPTIONS, List.of("-t"))
                .containsEntry(LaunchOption.JVM_OPTS, List.of("-verbose:gc", "-Xmx1g"))
                .containsEntry(LaunchOption.REDIRECTS, List.of("3"))
                .containsEntry(LaunchOption.TEE, List.of("1"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"true", "false", "-", "ps", "--json=x"})
    void theFirstWordAfterTheOptionsIsTheProgram(String program) {
        ParsedCommand line = parse("--dry-run -- " + program + " --json ps -h");
        assertThat(line.words()).containsExactly(program, "--json", "ps", "-h");
        assertThat(line.options()).containsOnlyKeys(LaunchOption.DRY_RUN);
        assertThat(line.command()).isEmpty();
    }

    @Test
    void theRecordedLineHasOneFormAndNoSecrets() {
        assertThat(parse("--env TOKEN=abc --env=A=\n --nproc_per_node 2 --json --standalone=no -r3 sh -c --env=B=1")
                        .withoutSecrets())
                .containsExactly(
                        "jrun",
                        "--env=TOKEN=...",
                        "--env=A=...",
                        "--nproc-per-node=2",
                        "--json",
                        "--standalone=no",
                        "--redirects=3",
                        "sh",
                        "-c",
                        "--env=B=1");
        assertThat(parse("bench allreduce --iters 5 --timeout=9").withoutSecrets())
                .containsExactly("jrun", "bench", "--timeout=9", "allreduce", "--iters", "5");
    }

    @Test
    void sbatchGetsItsOptionsAndTheScriptTheRest() {
        ParsedCommand line = parse("submit --nodelist=a --gpus_per_node 2 --hosts=b --requeue --log_dir l x --time=1");
        assertThat(line.texts(SbatchOption.class)).containsExactly("--nodelist=a", "--gpus-per-node=2", "--requeue");
        assertThat(line.texts(LaunchOption.class)).containsExactly("--hosts=b", "--log-dir=l");
        assertThat(line.words()).containsExactly("x", "--time=1");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ps x          | 'x' is one word too many; usage: jrun ps [-a] [--json].
        version x     | 'x' is one word too many; usage: jrun version.
        logs --now x  | unknown option '--now'; usage: jrun logs JOB [options].
        cancel x y    | 'y' is one word too many; usage: jrun cancel JOB [--now].
        attach        | JOB is missing; usage: jrun attach JOB. 'jrun ps' shows the jobs.
        init          | DIR is missing; usage: jrun init DIR [--shape=SHAPE] [--gradle].
        init a b      | 'b' is one word too many; usage: jrun init DIR [--shape=SHAPE] [--gradle].
        stack --rank  | --rank needs a value: --rank=RANKS.
        cert init --dir --days 3 | --dir needs a value, but '--days' follows: --dir=DIR.
        doctor --nnodes=2 | unknown option '--nnodes'; usage: jrun doctor [options].
        agent x       | 'x' is one word too many; usage: jrun agent [options].
        """)
    void errorsAreOneLine(String line, String message) {
        assertThatThrownBy(() -> parse(line)).isInstanceOf(UsageException.class).hasMessage(message);
    }

    private static CertRequest cert(String line) {
        Path here = Path.of("/here");
        return CertRequest.of(
                parse(line), new CommandContext(Map.of("HOME", "/here"), here, here, here, TerminalStreams.NONE));
    }

    @Test
    void certTakesItsOptionsInBothForms() {
        CertRequest wanted = new CertRequest(Path.of("/ca"), List.of("gpu1", "10.0.0.1"), 30);
        assertThat(cert("cert node gpu1,10.0.0.1 --dir=/ca --days=30")).isEqualTo(wanted);
        assertThat(cert("cert node --days 30 gpu1,10.0.0.1 --dir /ca")).isEqualTo(wanted);
        assertThat(cert("cert init --dir /ca").names()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cert init --dir",
                "cert init --dir=",
                "cert init --days 0",
                "cert init --years=2",
                "cert node",
                "cert node ca",
                "cert node a b",
                "cert"
            })
    void certRefusesInOneLine(String line) {
        assertThatThrownBy(() -> cert(line))
                .isInstanceOf(UsageException.class)
                .message()
                .isNotEmpty()
                .doesNotContain("\n");
    }
}

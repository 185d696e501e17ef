package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.job.TerminalStreams;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sub-commands that start nothing. */
class JRunCommandTest {
    @TempDir
    private Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void aCommandWithoutArgumentsRefusesArguments() {
        assertThat(run("version", "--json")).isEqualTo(2);
        assertThat(err).hasToString("jrun: unknown option '--json'; usage: jrun version.\n");
        assertThat(out.size()).isZero();
        assertThat(run("version")).isZero();
        assertThat(out.size()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "help",
                "version",
                "completion",
                "init my-model",
                "agent --listen=0.0.0.0",
                "submit --nnodes=2 --time 5",
                "doctor --hosts a,b",
                "cert node a --days=1",
                "flight-recorder logs --json",
                "ps -a",
                "describe job",
                "logs -f --rank=1 job",
                "attach job",
                "cancel job --now",
                "stack job"
            })
    void helpOfASubCommandWorksAnywhereAndStartsNothing(String line) {
        String command = line.replaceFirst(" .*", "");
        for (String help : List.of("-h", "--help")) {
            assertThat(run((line + " " + help).split(" ", -1))).isZero();
            assertThat(run((command + " " + help + line.substring(command.length())).split(" ", -1)))
                    .isZero();
        }
        assertThat(run("help", command)).isZero();
        String text = out.toString(StandardCharsets.UTF_8);
        assertThat(text).startsWith("Usage: jrun " + command);
        assertThat(text).isEqualTo(text.substring(0, text.length() / 5).repeat(5));
        assertThat(err.size()).isZero();
    }

    @Test
    void helpOfJrunIsBriefOrWhole() {
        assertThat(run("-h")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8).lines()).hasSizeLessThan(49);
        out.reset();
        assertThat(run("-h", "--no-such-option")).isZero();
        out.reset();
        assertThat(run("--help")).isZero();
        String whole = out.toString(StandardCharsets.UTF_8);
        assertThat(whole).contains("--signals-to-handle", "Exit codes:");
        out.reset();
        assertThat(run("help")).isZero();
        assertThat(out).hasToString(whole);
        assertThat(run("help", "decribe")).isEqualTo(2);
        assertThat(err).hasToString("jrun: unknown command 'decribe'; did you mean 'jrun help describe'?\n");
    }

    @Test
    void wordsAfterTheProgramOfASubmittedJobAreItsOwn() {
        assertThat(run("submit", "-t", "1:00:00", "train.jar")).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("A time limit is --timeout, of 'jrun submit'");
        assertThat(run("submit", "--print", "train.jar", "--help")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("train.jar --help");
    }

    @Test
    void helpOfTheAgentNamesItsOptions() {
        assertThat(run("agent", "-h")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("--secret-file=PATH", "--listen=ADDRESS:PORT");
    }

    @Test
    void dryRunSaysWhoStandsByAndHowFewAreEnough() {
        assertThat(run("--dry-run", "--hosts=a:1,b:1,c:1", "--nnodes=1:2", "--launch=ssh", "/bin/true"))
                .as(err.toString(StandardCharsets.UTF_8))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8).lines())
                .hasSize(5)
                .anyMatch(line -> line.matches("   1  b +0  - +/bin/true"))
                .noneMatch(line -> line.matches("   2  c .*"))
                .contains(
                        "continues with 1 to 2 nodes: if a node is missing, the ranks behind the gap move up",
                        "standby hosts, for lost nodes: c");
    }

    @Test
    void placeholdersAreOfTheProgramsArgumentsAndCanBeEscaped() {
        assertThat(run("--dry-run", "--role=${rank}", "/bin/echo", "$local_rank-${rank}", "$$${rank}", "${other}"))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("/bin/echo 0-0 '$0' '${other}'\n");
        out.reset();
        assertThat(run("--help")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8).replaceAll("\\s+", " "))
                .contains(
                        "${rank} and ${local_rank} stand for the worker's numbers; $$ gives a dollar sign (after -c and"
                                + " -e, where a shell reads $$, only before {rank}).");
    }

    @Test
    void agentListensAtNoAddressOfAnotherMachine() throws IOException {
        Files.createDirectories(folder.resolve("lib/runtime"));
        assertThat(run("agent", "--listen=192.0.2.1:0", "--secret-file=" + folder.resolve("secret")))
                .isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8))
                .hasLineCount(1)
                .startsWith(
                        "jrun: --listen: cannot listen on 192.0.2.1:0: this machine has no address 192.0.2.1. Use one"
                                + " of ")
                .contains("127.0.0.1")
                .endsWith(", or 0.0.0.0 for all.\n");
    }

    @Test
    void initRefusesAFolderThatIsInUseInOneLine() throws IOException {
        Path used = folder.resolve("used");
        Files.createDirectories(used.resolve("src"));
        Path file = Files.writeString(folder.resolve("file"), "");
        assertRefused(used + " is not empty; name a new or an empty folder.", "init", "used");
        assertThat(used.resolve("pom.xml")).doesNotExist();
        assertRefused(file + " is a file; name a new or an empty folder.", "init", "file");
        assertRefused("DIR is missing; usage: jrun init DIR [--shape=SHAPE] [--gradle].", "init");
        assertRefused("DIR is missing; usage: jrun init DIR [--shape=SHAPE] [--gradle].", "init", "");
        assertRefused("'b' is one word too many; usage: jrun init DIR [--shape=SHAPE] [--gradle].", "init", "a", "b");
        assertRefused("unknown option '--name'; usage: jrun init DIR [--shape=SHAPE] [--gradle].", "init", "--name=x");
        assertRefused("init: --shape is 'x', expected ddp, mesh or trainer.", "init", "--shape=x", "new");
    }

    private void assertRefused(String line, String... command) {
        err.reset();
        assertThat(run(command)).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).hasLineCount(1).endsWith(line + "\n");
        assertThat(out.size()).isZero();
    }

    @Test
    void benchWithoutAnOperationIsRefused() {
        assertThat(run("bench", "--nproc-per-node=2")).isEqualTo(2);
        assertThat(err)
                .hasToString(
                        "jrun: OPERATION is missing; usage: jrun bench OPERATION [options]. 'jrun bench --help' shows"
                                + " them.\n");
    }

    @Test
    void aSubmittedJobThatOutlivesNodesHasRoomForItsSparesAndOutlivesThemInSlurm() {
        assertThat(run("submit", "--print", "--nnodes=2:3", "--spares=1", "train.jar"))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("#SBATCH --nodes=2-4\n", "#SBATCH --no-kill\n");
        out.reset();
        assertThat(run("submit", "--print", "--nnodes=2", "train.jar")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("#SBATCH --nodes=2\n")
                .doesNotContain("--no-kill");
        out.reset();
        assertThat(run("submit", "--dry-run", "--container-image=/i.sqsh", "train.jar"))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains(" --container-image=/i.sqsh train.jar")
                .doesNotContain("--dry-run");
        assertThat(run("submit", "--print", "--nnodes=many", "train.jar")).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("--nnodes: 'many' is not usable");
    }

    private int run(String... args) {
        CommandContext commandContext =
                new CommandContext(Map.of("HOME", folder.toString()), folder, folder, folder, TerminalStreams.NONE);
        return new JRunCommand(commandContext, new Terminal(out, err, false, false)).run(List.of(args));
    }
}

package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The completion scripts in a real bash and a real fish. */
class CompletionTest {
    private static final Path FISH = Path.of("/usr/bin/fish");
    private static final Path BASH_COMPLETION = Path.of("/usr/share/bash-completion/bash_completion");

    /** Calls the completion function as bash does: $1 is the script, the words that follow are those of the line. */
    private static final String COMPLETE = """
            source "$1" || exit
            shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            function_name=$(complete -p jrun | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
            "$function_name" jrun "${COMP_WORDS[COMP_CWORD]}" ''
            ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
            exit 0
            """;

    private static final List<String> BENCH_WORDS = List.of("allreduce", "memory", "--iters", "--backend");

    @TempDir
    private Path folder;

    private Path script;

    @BeforeEach
    void writeScript() throws IOException {
        script = Files.writeString(folder.resolve("script"), HelpText.completion("", BENCH_WORDS));
        Files.createFile(folder.resolve("train.jar"));
        Files.createFile(folder.resolve("the job.yaml"));
        Files.createDirectories(folder.resolve("things"));
        Files.createDirectories(folder.resolve("state/jrun/jobs/nightly-1"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            des                               | describe
            t                                 | top,trace,train.jar,the job.yaml,things
            --nproc-per-node=2 t              | train.jar,the job.yaml,things
            --nproc-per-node 2 tr             | train.jar
            --json des                        |
            -f t                              | train.jar,the job.yaml,things
            --file the                        | the job.yaml
            --file = tr                       | train.jar
            --log-dir = t                     | things
            --log_dir = t                     | things
            --backend = gl                    | gloo
            --backend gl                      | gloo
            --launch =                        | auto,local,hosts,ssh,slurm
            --nproc-per-node = g              | gpu
            --timeout = t                     |
            --master-p                        | --master-port
            --hosts a : 2 tr                  | train.jar
            train.jar --nproc                 |
            -- train.jar --nproc              |
            python3 t                         |
            logs ni                           | nightly-1
            logs --f                          | --follow
            cancel --n                        | --now
            cancel --now ni                   | nightly-1
            exec ni                           | nightly-1
            exec nightly-1 --he               |
            rm nightly-1 ni                   | nightly-1
            report --out                      | --output
            report --output tr                | train.jar
            image pu                          | pull
            completion f                      | fish
            help fl                           | flight-recorder
            bench mem                         | memory
            bench allreduce --it              | --iters
            bench allreduce --hostf           | --hostfile
            doctor --la                       | --launch
            doctor t                          |
            submit --parti                    | --partition
            submit --time = 5 tr              | train.jar
            submit train.jar --parti          |
            agent --se                        | --secret-file
            cert --dir t                      | things
            """)
    void linesAreCompleted(String line, String replies) throws Exception {
        List<String> expected = replies == null ? List.of() : List.of(replies.split(","));
        assertThat(replies(line, false)).containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void allOptionsOfACommandAreThere() throws Exception {
        List<String> own = new ArrayList<>(replies("--", false));
        for (LaunchOption option : LaunchOption.values()) {
            assertThat(own).contains(option.longName());
        }
        assertThat(replies("cancel --", false)).containsExactly("--now", "--help");
    }

    @Test
    void aWholeWordOptionWhereBashDoesNotBreakAtEqualsSigns() throws Exception {
        assertThat(replies("--backend=gl", false)).containsExactly("gloo");
        Files.writeString(script, "COMP_WORDBREAKS=' '\n" + Files.readString(script));
        assertThat(replies("--backend=gl", false)).containsExactly("--backend=gloo");
        assertThat(replies("--file=tr", false)).containsExactly("--file=train.jar");
    }

    @Test
    void worksBesideBashCompletion() throws Exception {
        if (isMissing()) {
            return;
        }
        assertThat(replies("th", true)).containsExactlyInAnyOrder("the job.yaml", "things");
        assertThat(replies("--backend = gl", true)).containsExactly("gloo");
        assertThat(replies("train.jar --nproc", true)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void otherWordsAreCompletedWithFilesByTheShell(boolean besideBashCompletion) throws Exception {
        if (besideBashCompletion && isMissing()) {
            return;
        }
        assertThat(bash("source \"$1\"; complete -p jrun", besideBashCompletion, List.of(script.toString())))
                .containsExactly("complete -o default -F _jrun jrun");
    }

    @Test
    void fishCompletesTheSame() throws Exception {
        if (!Files.exists(FISH)) {
            System.out.println("CompletionTest: no " + FISH + "; install fish to test its completion");
            return;
        }
        Path fish = Files.writeString(folder.resolve("fish"), HelpText.completion("fish", BENCH_WORDS));
        List<List<String>> cases = List.of(
                List.of("des", "describe"),
                List.of("--nproc-per-node=2 tr", "train.jar"),
                List.of("--file tr", "train.jar"),
                List.of("--backend gl", "gloo"),
                List.of("--backend=gl", "--backend=gloo"),
                List.of("--master-p", "--master-port"),
                List.of("train.jar --nproc", ""),
                List.of("logs ni", "nightly-1"),
                List.of("logs --fol", "--follow"),
                List.of("exec nightly-1 --ssh", ""),
                List.of("help fl", "flight-recorder"),
                List.of("bench mem", "memory"),
                List.of("bench allreduce --it", "--iters"),
                List.of("submit --parti", "--partition"),
                List.of("image pu", "pull"));
        StringBuilder lines = new StringBuilder("source '" + fish + "'\n");
        cases.forEach(line -> lines.append("echo (complete -C 'jrun ")
                .append(line.getFirst())
                .append("' | string replace -r '\\t.*' '')\n"));
        ProcessBuilder builder = new ProcessBuilder(FISH.toString(), "--no-config", "-c", lines.toString())
                .directory(folder.toFile())
                .redirectErrorStream(true);
        builder.environment().put("XDG_STATE_HOME", folder.resolve("state").toString());
        builder.environment().put("HOME", folder.toString());
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        assertThat(out.lines())
                .containsExactlyElementsOf(cases.stream().map(List::getLast).toList());
    }

    private static boolean isMissing() {
        boolean isMissing = !Files.exists(BASH_COMPLETION);
        if (isMissing) {
            System.out.println("CompletionTest: bash-completion is not installed, so jrun's script is tested alone");
        }
        return isMissing;
    }

    private List<String> replies(String line, boolean besideBashCompletion) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(script.toString(), "jrun"));
        words.addAll(List.of(line.split(" ")));
        return bash(COMPLETE, besideBashCompletion, words);
    }

    private List<String> bash(String commands, boolean besideBashCompletion, List<String> args)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", "--norc", "-c"));
        command.add((besideBashCompletion ? "source " + BASH_COMPLETION + "\n" : "") + commands);
        command.add("bash");
        command.addAll(args);
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        builder.environment().put("XDG_STATE_HOME", folder.resolve("state").toString());
        Path errors = folder.resolve("errors");
        Process process = builder.redirectError(errors.toFile()).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
        assertThat(Files.readString(errors)).isEmpty();
        return out.lines().toList();
    }
}

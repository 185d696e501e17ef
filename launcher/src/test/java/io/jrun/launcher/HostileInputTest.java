package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.LaunchOption;
import io.jrun.launcher.job.TerminalStreams;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Any content of an option, a job file or a host file leads to a rank map, or to one line and exit code 2. The seeds
 * are fixed.
 */
class HostileInputTest {
    /** A parser that hangs does so for minutes; this tells it from one on a busy machine. */
    private static final Duration HANGS = Duration.ofSeconds(20);

    private static final int ROUNDS = 100;

    private static final List<String> VALUES = List.of(
            "",
            " ",
            "0",
            "-1",
            "2",
            "010",
            "9".repeat(30),
            "1e9",
            "NaN",
            "0x10",
            "\u0663",
            "\n",
            "\t",
            "\u001b[2J",
            "\u2028",
            "\ufeff",
            "\u00e9",
            "[",
            "[1-",
            "[1-9]",
            "[0-65535]",
            "n[0-65535]:4096",
            ",,",
            ":",
            "a:b:c",
            "@",
            "=",
            "a=b",
            "'",
            "\"",
            "\\",
            "${rank}",
            "../..",
            "/dev/zero",
            "~",
            "*",
            "-",
            "--",
            "h1",
            "h1:4",
            "h1:8,h2:4",
            "0-5",
            "5-0",
            "0:3,1:2",
            "0-1000000",
            "auto",
            "true",
            "yes",
            "null",
            "SIGTERM",
            "ppr:2",
            "2:1",
            ":29400",
            "[::1]:5",
            "127.0.0.1",
            "timeout=5",
            "is_host=maybe",
            "a".repeat(5000),
            "[1]".repeat(5000),
            "n[0-65535],".repeat(300),
            "0-999999,".repeat(500),
            "a/".repeat(5000),
            " ".repeat(20_000));

    private static final List<String> YAML = List.of(
            "---\n",
            "...\n",
            ": ",
            "- ",
            "? ",
            "&a ",
            "*a",
            "!!binary ",
            "!!set ",
            "!!int ",
            "{",
            "}",
            "[",
            "]",
            "|\n  ",
            "# x",
            "\n",
            "\n  ",
            "\t",
            "%YAML 9.9\n",
            "<<: ",
            "`",
            "program: ",
            "args: ",
            "env: {A: ",
            "\"\\0\"",
            "\"\\ud800\"",
            "\"\\x",
            "'",
            "0o7",
            "0x",
            "1_",
            "+.inf",
            ".nan",
            "1:30:00",
            "2001-12-14",
            "~",
            "\u0085",
            "\0",
            "0b",
            "-0x",
            "key: value\n",
            "timeout: 5\n",
            "[".repeat(2000),
            "- ".repeat(3000));

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void anyInputIsReadOrRefusedInOneLine(long seed) throws IOException {
        Random random = new Random(seed);
        for (int round = 0; round < ROUNDS; round++) {
            check(
                    switch (random.nextInt(4)) {
                        case 0 -> List.of("--file=" + jobFile(random), "/bin/true");
                        case 1 -> List.of("--hostfile=" + hostFile(random), "--launch=ssh", "/bin/true");
                        default -> List.of(option(random), option(random), "/bin/true");
                    });
        }
    }

    @Test
    void jobOfMoreRanksThanThereCanBeIsRefused() {
        check(List.of("--hosts=n[0-65535]:4096", "--launch=ssh", "/bin/true"));
        check(List.of("--hosts=n[0-65535]", "--nproc-per-node=4096", "--launch=ssh", "/bin/true"));
    }

    private void check(List<String> given) {
        List<String> args = new ArrayList<>(given);
        args.addFirst("--dry-run");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        CommandContext commandContext = new CommandContext(
                Map.of("HOME", folder.toString(), "PATH", "/usr/bin:/bin"),
                folder,
                folder,
                folder,
                TerminalStreams.NONE);
        long start = System.nanoTime();
        int exitCode = new JRunCommand(commandContext, new Terminal(out, err, false, false)).run(args);
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        String what = String.join(" ", args);
        String said = err.toString(StandardCharsets.UTF_8);
        assertThat(took).as(what).isLessThan(HANGS);
        assertThat(exitCode).as("%s: %s", what, said).isIn(0, 2);
        if (exitCode == 2) {
            assertThat(said).as(what).startsWith("jrun: ").matches("[^\\p{Cntrl}]{1,1500}\n");
        } else {
            assertThat(said).as(what).isEmpty();
        }
    }

    /** Not of --detach, which would start a job, and not of --json, which needs an installation. */
    private static String option(Random random) {
        LaunchOption option = any(List.of(LaunchOption.values()), random);
        return option == LaunchOption.DETACH || option == LaunchOption.JSON
                ? "--role=a"
                : option.longName() + "=" + any(VALUES, random);
    }

    private String jobFile(Random random) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(8); i >= 0; i--) {
            text.append(
                    random.nextInt(3) == 0
                            ? option(random).substring(2).replaceFirst("=", ": ") + "\n"
                            : any(YAML, random));
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        if (random.nextInt(4) == 0) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
        String name = random.nextInt(3) == 0 ? "job.json" : "job.yaml";
        Files.write(folder.resolve(name), bytes);
        return name;
    }

    private String hostFile(Random random) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(6); i >= 0; i--) {
            text.append(random.nextBoolean() ? "h" + i : any(VALUES, random))
                    .append(random.nextBoolean() ? " slots=" : "\n")
                    .append(any(VALUES, random))
                    .append('\n');
        }
        Files.writeString(folder.resolve("hosts"), text);
        return "hosts";
    }

    private static <T> T any(List<T> values, Random random) {
        return values.get(random.nextInt(values.size()));
    }
}

package io.jrun.launcher.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Checks which backends a worker of this installation can use, with a JVM that has a worker's class path. */
final class BackendsCheck implements Check {
    /** The deadline in seconds. The first load of libtorch unpacks 450 MB. */
    private static final long DEADLINE_SECONDS = 120;

    private static final String PROGRAM = "io.jrun.comm.group.BackendCheck";

    private final Path home;

    /** @param home the folder of the installation */
    BackendsCheck(Path home) {
        this.home = home;
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        List<CheckResult> findings = new ArrayList<>();
        findings.add(CheckResult.ok("backend jrun", "shared memory on one node, TCP between nodes"));
        Path outputFile = Files.createTempFile("jrun-doctor", ".txt");
        Path errors = Files.createTempFile("jrun-doctor", ".err");
        try {
            Process java = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "--add-modules=jdk.incubator.vector",
                            "--enable-native-access=ALL-UNNAMED",
                            "--sun-misc-unsafe-memory-access=allow",
                            "-cp",
                            home.resolve("lib/runtime") + "/*",
                            PROGRAM)
                    .redirectOutput(outputFile.toFile())
                    .redirectError(errors.toFile())
                    .start();
            boolean ended = java.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                java.destroyForcibly().waitFor();
            }
            for (String line : Files.readAllLines(outputFile, StandardCharsets.UTF_8)) {
                findings.add(finding(line));
            }
            if (!ended || java.exitValue() != 0) {
                String last = Files.readAllLines(errors).stream()
                        .filter(line -> !line.startsWith("WARNING"))
                        .reduce("", (first, second) -> second);
                findings.add(CheckResult.problem(
                        "backends",
                        (ended ? "the check ended with " + java.exitValue() : "no answer in " + DEADLINE_SECONDS + " s")
                                + ": " + last));
            }
        } finally {
            Files.delete(outputFile);
            Files.delete(errors);
        }
        return findings;
    }

    private static CheckResult finding(String line) {
        int tab = line.indexOf('\t');
        String what = "backend " + line.substring(0, tab);
        String reason = line.substring(tab + 1);
        return reason.isEmpty() ? CheckResult.ok(what, "available") : CheckResult.absent(what, reason);
    }
}

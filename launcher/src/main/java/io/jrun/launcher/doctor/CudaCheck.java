package io.jrun.launcher.doctor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Shows which build of libtorch the workers of this machine use, with the driver, CUDA, cuDNN and NCCL. */
final class CudaCheck implements Check {
    private static final String PROGRAM = "io.jrun.train.LibtorchReport";
    private static final int FIELDS = 4;

    private final Path home;

    /** @param home the folder of the installation */
    CudaCheck(Path home) {
        this.home = home;
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        WorkerJvm.Output output = new WorkerJvm(home).run(PROGRAM, List.of(), List.of());
        List<CheckResult> findings = new ArrayList<>();
        for (String line : output.lines()) {
            findings.add(finding(line.split("\t", FIELDS)));
        }
        if (!output.error().isEmpty()) {
            findings.add(CheckResult.problem("libtorch", output.error()));
        }
        return findings;
    }

    /** A line has the state, the checked thing, its version or nothing, and the text. */
    private static CheckResult finding(String[] fields) {
        CheckResult found = switch (fields[0]) {
            case "ok" -> CheckResult.ok(fields[1], fields[3]);
            case "absent" -> CheckResult.absent(fields[1], fields[3]);
            default -> CheckResult.problem(fields[1], fields[3]);
        };
        return found.with("version", fields[2]);
    }
}

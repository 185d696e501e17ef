package io.jrun.launcher.doctor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Checks which backends a worker of this installation can use, with a JVM that has a worker's class path. */
final class BackendsCheck implements Check {
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
        WorkerJvm.Output output = new WorkerJvm(home).run(PROGRAM, List.of(), List.of());
        for (String line : output.lines()) {
            findings.add(finding(line));
        }
        if (!output.error().isEmpty()) {
            findings.add(CheckResult.problem("backends", output.error()));
        }
        return findings;
    }

    private static CheckResult finding(String line) {
        int tab = line.indexOf('\t');
        String what = "backend " + line.substring(0, tab);
        String reason = line.substring(tab + 1);
        if (what.equals("backend nccl")) {
            return reason.isEmpty()
                    ? CheckResult.ok(what, "available; moves memory of GPUs where each rank has a GPU of its own")
                    : CheckResult.absent(what, reason + ". Memory of GPUs goes through host memory");
        }
        return reason.isEmpty() ? CheckResult.ok(what, "available") : CheckResult.absent(what, reason);
    }
}

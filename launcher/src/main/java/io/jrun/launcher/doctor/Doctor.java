package io.jrun.launcher.doctor;

import io.jrun.agent.container.ContainerSpec;
import io.jrun.launcher.blas.MklJars;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs the checks one after another and reports the results. */
public final class Doctor {
    private final List<CheckResult> findings;

    Doctor(List<CheckResult> findings) {
        this.findings = List.copyOf(findings);
    }

    /**
     * Checks this machine and the hosts. Without hosts, checks the installation in {@code home} too. Makes a container,
     * if one is given.
     *
     * @param command the path of the jrun command
     */
    public static Doctor examine(
            Path home, Path command, String version, List<? extends Check> hosts, Optional<ContainerSpec> container)
            throws InterruptedException {
        List<Check> checks = new ArrayList<>();
        checks.add(() -> MachineChecks.jrun(version, home));
        checks.add(MachineChecks::jdk);
        checks.add(() -> MachineChecks.node(version));
        checks.add(new TemporaryFolderCheck());
        checks.add(new OpenBlasCheck(System.getenv(), Path.of("/")));
        checks.add(() -> SshCheck.here(System.getenv()));
        checks.add(new SlurmCheck(System.getenv()));
        checks.add(new ContainersCheck(container, System.getenv()));
        if (hosts.isEmpty()) {
            checks.add(new CudaCheck(home));
            checks.add(new BackendsCheck(home));
            checks.add(new MatrixProductsCheck(home, MklJars.of(System.getenv())));
            checks.add(new GpuPairsCheck(home, command, MachineChecks.gpus()));
        }
        checks.addAll(hosts);
        return examine(checks);
    }

    /** Checks only what workers on GPUs need: libtorch's CUDA build, the driver and CUDA's own libraries. */
    public static Doctor examineCuda(Path home) throws InterruptedException {
        return examine(List.of(new CudaCheck(home)));
    }

    static Doctor examine(List<Check> checks) throws InterruptedException {
        List<CheckResult> findings = new ArrayList<>();
        for (Check check : checks) {
            try {
                findings.addAll(check.run());
            } catch (IOException e) {
                findings.add(CheckResult.problem("check", "the check failed: " + reason(e)));
            }
        }
        return new Doctor(findings);
    }

    private static String reason(IOException e) {
        String message = String.valueOf(e.getMessage());
        return e instanceof NoSuchFileException ? message + " does not exist" : message;
    }

    /** 0, or 1 if there is a problem. */
    public int exitCode() {
        return findings.stream().anyMatch(finding -> finding.state() == CheckResult.CheckState.PROBLEM) ? 1 : 0;
    }

    /** One line for each result. */
    public List<String> lines() {
        int width =
                findings.stream().mapToInt(finding -> finding.what().length()).reduce(14, Math::max);
        String format = "%-8s %-" + width + "s %s";
        return findings.stream()
                .map(finding -> format.formatted(finding.state().word(), finding.what(), finding.text()))
                .toList();
    }

    /** The results as one JSON object on one line. */
    public String json() {
        List<Map<String, Object>> checks = new ArrayList<>();
        for (CheckResult finding : findings) {
            Map<String, Object> check = new LinkedHashMap<>();
            check.put("what", finding.what());
            check.put("state", finding.state().word());
            check.put("text", finding.text());
            check.put("values", finding.values());
            checks.add(check);
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ok", exitCode() == 0);
        json.put("checks", checks);
        return JsonLine.of(json);
    }
}

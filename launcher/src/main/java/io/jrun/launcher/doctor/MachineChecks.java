package io.jrun.launcher.doctor;

import io.jrun.agent.HostInspection;
import io.jrun.agent.node.GpuListException;
import io.jrun.agent.node.NodeProbe;
import java.nio.file.Path;
import java.util.List;

/** The checks of this machine. */
final class MachineChecks {
    private static final int NEWEST_NEEDED = 25;

    private MachineChecks() {}

    static List<CheckResult> jrun(String version, Path home) {
        return List.of(CheckResult.ok("jrun", version + " in " + home)
                .with("version", version)
                .with("home", home.toString()));
    }

    static List<CheckResult> jdk() {
        int version = Runtime.version().feature();
        String text = "Java " + Runtime.version() + " in " + System.getProperty("java.home");
        CheckResult found = version >= NEWEST_NEEDED
                ? CheckResult.ok("jdk", text)
                : CheckResult.problem("jdk", text + "; jrun needs " + NEWEST_NEEDED + ": set JRUN_JAVA_HOME");
        return List.of(found.with("version", Runtime.version().toString()));
    }

    /** The visible GPUs; empty if a variable names them in a form that cannot be used. */
    static List<String> gpus() {
        try {
            return NodeProbe.probeHere().gpus();
        } catch (GpuListException e) {
            return List.of(); // the checks of the node report the variable
        }
    }

    /** The checks that other hosts get too. */
    static List<CheckResult> node(String version) throws InterruptedException {
        return NodeAssessment.of(HostInspection.here(version, List.of(NodeProbe.hostHere()), ""));
    }
}

package io.jrun.launcher.doctor;

import io.jrun.agent.HostExamination;
import io.jrun.agent.node.NodeProbe;
import java.nio.file.Path;
import java.util.List;

/** This machine itself. */
final class MachineChecks {
    private static final int NEWEST_NEEDED = 25;

    private MachineChecks() {}

    static List<Finding> jrun(String version, Path home) {
        return List.of(Finding.ok("jrun", version + " in " + home)
                .with("version", version)
                .with("home", home.toString()));
    }

    static List<Finding> jdk() {
        int version = Runtime.version().feature();
        String text = "Java " + Runtime.version() + " in " + System.getProperty("java.home");
        Finding found = version >= NEWEST_NEEDED
                ? Finding.ok("jdk", text)
                : Finding.problem("jdk", text + "; jrun needs " + NEWEST_NEEDED + ": set JRUN_JAVA_HOME");
        return List.of(found.with("version", Runtime.version().toString()));
    }

    /** What other hosts are asked too. */
    static List<Finding> node(String version) throws InterruptedException {
        return NodeFindings.of(HostExamination.here(version, List.of(NodeProbe.hostHere()), ""));
    }
}

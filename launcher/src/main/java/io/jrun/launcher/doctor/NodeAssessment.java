package io.jrun.launcher.doctor;

import io.jrun.agent.proto.Examination;
import java.util.ArrayList;
import java.util.List;

/** Judges the facts of a machine: of this machine, or of a host as reported by its agent. Stateless. */
final class NodeAssessment {
    /**
     * The needed room in /dev/shm for registered memory: a few hundred megabytes of gradients for each of several
     * ranks.
     */
    private static final long SHARED_MEMORY_BYTES = 1L << 30;

    private NodeAssessment() {}

    /** One result for each fact. */
    static List<CheckResult> of(Examination facts) {
        List<CheckResult> found = new ArrayList<>();
        found.add(startTools(facts));
        found.add(names(facts));
        found.add(CheckResult.ok(
                        "cores", facts.getCores() + " usable, " + megabytes(facts.getMemoryBytes()) + " MiB memory")
                .with("cores", facts.getCores())
                .with("memory_bytes", facts.getMemoryBytes()));
        found.addAll(GpuAssessment.of(facts));
        found.add(sharedMemory(facts)
                .with("free_bytes", facts.getShmFreeBytes())
                .with("total_bytes", facts.getShmBytes()));
        found.addAll(LimitAssessment.of(facts));
        return found;
    }

    /** Checks the tools that start workers. */
    private static CheckResult startTools(Examination facts) {
        return facts.getMissingTools().isEmpty()
                ? CheckResult.ok("tools", facts.getTools())
                : CheckResult.problem("tools", facts.getMissingTools());
    }

    private static CheckResult names(Examination facts) {
        return facts.getUnknownNamesList().isEmpty()
                ? CheckResult.ok(
                        "names",
                        facts.getAddress().isEmpty() ? "knows its own name, " + facts.getHost() : "knows all hosts")
                : CheckResult.problem(
                                "names",
                                "does not know " + String.join(", ", facts.getUnknownNamesList())
                                        + "; add them to DNS or its /etc/hosts, or name hosts by their addresses")
                        .with("unknown", List.copyOf(facts.getUnknownNamesList()));
    }

    private static CheckResult sharedMemory(Examination facts) {
        String what = "/dev/shm";
        if (facts.getShmFreeBytes() < 0) {
            return CheckResult.problem(
                    what,
                    "not writable; ranks of one node move data through it. Mount a tmpfs there, or JRUN_TRANSPORT=tcp");
        }
        String text = megabytes(facts.getShmFreeBytes()) + " MiB free of " + megabytes(facts.getShmBytes());
        return facts.getShmFreeBytes() >= SHARED_MEMORY_BYTES
                ? CheckResult.ok(what, text)
                : CheckResult.problem(
                        what,
                        text + "; registered memory needs more: mount -o remount,size=50% /dev/shm (containers:"
                                + " --shm-size)");
    }

    private static long megabytes(long bytes) {
        return bytes >> 20;
    }
}

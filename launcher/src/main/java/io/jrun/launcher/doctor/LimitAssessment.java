package io.jrun.launcher.doctor;

import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ResourceLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Judges the limits (ulimit) of the process that starts workers. Workers inherit these limits. Stateless. */
final class LimitAssessment {
    /** The needed open files: a rank has a connection to each other rank, and each class path entry is a file. */
    private static final long FILES = 1024;

    /**
     * The needed threads: eight workers with about 60 threads each besides the threads for each core, and other
     * programs of the user.
     */
    private static final long THREADS = 1024;

    /** The needed threads for each core: collector and compiler of each JVM, and libtorch's pools. */
    private static final long THREADS_PER_CORE = 8;

    private static final String UNLIMITED = "unlimited";

    private LimitAssessment() {}

    static List<CheckResult> of(Examination facts) {
        List<CheckResult> found = new ArrayList<>();
        limit(facts, "Max open files")
                .map(limit -> atLeast("open files", limit, FILES, "in a process", "-n 65536"))
                .ifPresent(found::add);
        long threads = THREADS + THREADS_PER_CORE * facts.getCores();
        limit(facts, "Max processes")
                .map(limit -> atLeast("threads", limit, threads, "of this user", "-u unlimited"))
                .ifPresent(found::add);
        limit(facts, "Max locked memory")
                .map(limit -> lockedMemory(limit, facts.getRdmaDevicesList()))
                .ifPresent(found::add);
        limit(facts, "Max address space").map(LimitAssessment::addressSpace).ifPresent(found::add);
        limit(facts, "Max core file size").map(LimitAssessment::coreFiles).ifPresent(found::add);
        return found;
    }

    private static CheckResult atLeast(String what, ResourceLimit limit, long needed, String whose, String option) {
        String text = "at most " + limit.getSoft() + " " + whose;
        return reaches(limit.getSoft(), needed)
                ? values(CheckResult.ok(what, text), limit)
                : values(
                        CheckResult.problem(
                                what,
                                text + ", jobs need up to " + needed + "; "
                                        + advice(limit, option, reaches(limit.getHard(), needed))),
                        limit);
    }

    /** Hardware that reads memory itself needs locked memory. jrun's shared memory does not. */
    private static CheckResult lockedMemory(ResourceLimit limit, List<String> devices) {
        String what = "locked memory";
        boolean unlimited = limit.getSoft().equals(UNLIMITED);
        if (unlimited || devices.isEmpty()) {
            return values(
                    CheckResult.ok(
                            what, unlimited ? UNLIMITED : bytes(limit) + ", and no InfiniBand that would need more"),
                    limit);
        }
        return values(
                CheckResult.problem(
                        what,
                        bytes(limit) + ", too little to register memory with " + String.join(", ", devices) + "; "
                                + advice(limit, "-l unlimited", limit.getHard().equals(UNLIMITED))),
                limit);
    }

    private static CheckResult addressSpace(ResourceLimit limit) {
        return values(
                limit.getSoft().equals(UNLIMITED)
                        ? CheckResult.ok("address space", UNLIMITED)
                        : CheckResult.problem(
                                "address space",
                                bytes(limit) + "; a JVM reserves many times what it uses, and fails: "
                                        + advice(
                                                limit,
                                                "-v unlimited",
                                                limit.getHard().equals(UNLIMITED))),
                limit);
    }

    private static CheckResult coreFiles(ResourceLimit limit) {
        return values(
                limit.getSoft().equals("0")
                        ? CheckResult.absent(
                                "core files",
                                "a crash writes no core file; hs_err_pid*.log describes a crash in native code (for a"
                                        + " core file: ulimit -c unlimited)")
                        : CheckResult.ok("core files", limit.getSoft().equals(UNLIMITED) ? UNLIMITED : bytes(limit)),
                limit);
    }

    /** @param raisable whether the hard limit allows the user to raise the limit */
    private static String advice(ResourceLimit limit, String option, boolean raisable) {
        return raisable
                ? "raise it: ulimit " + option
                : "its hard limit is " + limit.getHard()
                        + "; root can raise it in /etc/security/limits.conf, in the agent's systemd unit, or by"
                        + " --ulimit of a container";
    }

    private static boolean reaches(String limit, long needed) {
        return limit.equals(UNLIMITED) || Long.parseLong(limit) >= needed;
    }

    private static String bytes(ResourceLimit limit) {
        return "at most " + (Long.parseLong(limit.getSoft()) >> 10) + " KiB";
    }

    private static CheckResult values(CheckResult finding, ResourceLimit limit) {
        return finding.with("soft", limit.getSoft()).with("hard", limit.getHard());
    }

    private static Optional<ResourceLimit> limit(Examination facts, String name) {
        return facts.getLimitsList().stream()
                .filter(limit -> limit.getName().equals(name))
                .findFirst();
    }
}

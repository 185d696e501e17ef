package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** How the files of shared memory are called in /dev/shm, for those who look for leftovers. Stateless. */
public final class SegmentNames {
    private static final int RUN_ID_CHARS = 40;

    private SegmentNames() {}

    /** With which the names of all segments of a run begin, and perhaps of another run; only letters, digits, and "._-". */
    public static String ofRun(String runId) {
        String run = runId.replaceAll("[^A-Za-z0-9._-]", "_");
        return ofUser() + run.substring(0, Math.min(run.length(), RUN_ID_CHARS)) + "-";
    }

    /** With which the names of all segments of this user begin. */
    static String ofUser() {
        return "jrun-" + userId() + "-";
    }

    /** The user of this process. */
    static int userId() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot read this process's user: " + e.getMessage(), e);
        }
    }
}

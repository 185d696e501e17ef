package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The names of shared memory files in /dev/shm, for tools that search for leftovers. Stateless. */
public final class SegmentNames {
    private static final int RUN_ID_CHARS = 40;

    private SegmentNames() {}

    /**
     * Returns the common prefix of the names of a run's segments, which another run may share; only letters, digits,
     * and "._-".
     */
    public static String ofRun(String runId) {
        String run = runId.replaceAll("[^A-Za-z0-9._-]", "_");
        return ofUser() + run.substring(0, Math.min(run.length(), RUN_ID_CHARS)) + "-";
    }

    /** Returns the common prefix of the names of this user's segments. */
    static String ofUser() {
        return "jrun-" + userId() + "-";
    }

    /** Returns the user id of this process. */
    static int userId() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot read this process's user: " + e.getMessage(), e);
        }
    }
}

package io.jrun.comm.backend;

import java.util.concurrent.locks.LockSupport;

/**
 * A place at which a test can stop a rank: the system property {@code jrun.test.pauseAt}, {@code RANK:OPERATION#N:PHASE} as
 * in {@code 1:allReduce#3:reduce}, makes that rank write a marker line to stderr there and never go on. Phases are
 * {@code enter}, {@code exit}, {@code reduce} (a part of this rank's share is reduced), and over shared memory {@code map}
 * (this rank has made its part of registered memory, which has a name until all ranks have mapped it) and {@code mapped}
 * (all have, and its name is still there).
 */
public final class PausePoint {
    private final String wanted;

    private PausePoint(String wanted) {
        this.wanted = wanted;
    }

    /** The place this VM was told of, if it concerns {@code worldRank}. */
    public static PausePoint ofRank(int worldRank) {
        String property = System.getProperty("jrun.test.pauseAt", "");
        String prefix = worldRank + ":";
        return new PausePoint(property.startsWith(prefix) ? property.substring(prefix.length()) : "");
    }

    /** Stops here if this is the place. */
    public void reached(Call part, String phase) {
        Call call = part.asCalled();
        if (!wanted.isEmpty() && wanted.equals(call.kind().methodName() + "#" + call.sequence() + ":" + phase)) {
            System.err.println("jrun-test: paused at " + wanted);
            while (true) {
                LockSupport.park(this);
            }
        }
    }
}

package io.jrun.comm.backend;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A place at which a test can stop a rank: {@code OPERATION#N:PHASE}, or {@code OPERATION#N:PHASE@K} for the K-th time that
 * the operation, with all its parts, comes to the phase, and every time after, on whatever thread. Phases are
 *
 * <ul>
 *   <li>{@code enter}: over shared memory all ranks have entered, over TCP this one has, of a message this end has;
 *   <li>{@code step}: a frame is about to be sent or awaited, a phase of shared memory to be finished, a chunk of a message
 *       to be handed over;
 *   <li>{@code reduce}: a part of this rank's share is reduced;
 *   <li>{@code map}: this rank has made its part of registered memory, which has a name until all ranks have mapped it;
 *   <li>{@code mapped}: all have, and its name is still there;
 *   <li>{@code exit}: this rank is done.
 * </ul>
 *
 * and {@code *} is each of them. Thread-safe.
 */
public final class PausePoint {
    /** Stops nobody. */
    public static final PausePoint NONE = new PausePoint("", "", 0, () -> {});

    private static final String ANY = "*";

    private final String operation;
    private final String phase;
    private final AtomicInteger timesLeft;
    private final Runnable then;

    private PausePoint(String operation, String phase, int times, Runnable then) {
        this.operation = operation;
        this.phase = phase;
        this.timesLeft = new AtomicInteger(times);
        this.then = then;
    }

    /** A place where the rank runs {@code then}. */
    public static PausePoint at(String place, Runnable then) {
        List<String> words = Arrays.asList(place.split("[:@]", -1));
        int times = words.size() > 2 ? Integer.parseInt(words.get(2)) : 1;
        return new PausePoint(words.get(0), words.get(1), times, then);
    }

    /**
     * The place that this process was told of by the system property {@code jrun.test.pauseAt}, {@code RANK:PLACE}, if it
     * concerns {@code worldRank}: there that rank writes a marker line to stderr and never goes on.
     */
    public static PausePoint ofRank(int worldRank) {
        String property = System.getProperty("jrun.test.pauseAt", "");
        String prefix = worldRank + ":";
        if (!property.startsWith(prefix)) {
            return NONE;
        }
        String place = property.substring(prefix.length());
        return at(place, () -> stop(place));
    }

    private static void stop(String place) {
        System.err.println("jrun-test: paused at " + place);
        while (true) {
            LockSupport.park(PausePoint.class);
        }
    }

    /** Stops here if this is the place. */
    public void reached(Call part, String reachedPhase) {
        if (!operation.isEmpty() && isWanted(part.asCalled(), reachedPhase) && timesLeft.decrementAndGet() <= 0) {
            then.run();
        }
    }

    private boolean isWanted(Call call, String reachedPhase) {
        return (phase.equals(ANY) || phase.equals(reachedPhase))
                && operation.equals(call.kind().methodName() + "#" + call.sequence());
    }
}

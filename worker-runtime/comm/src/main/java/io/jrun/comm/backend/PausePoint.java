package io.jrun.comm.backend;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A point at which a test can pause a rank: {@code OPERATION#N:PHASE}, or {@code OPERATION#N:PHASE@K} for the K-th and
 * every later time that the operation, with all its parts, reaches the phase, on any thread. The phases are
 *
 * <ul>
 * <li>{@code enter}: over shared memory all ranks have entered; over TCP this rank has entered; for a message this end;
 * <li>{@code step}: before sending or awaiting a frame, before the end of a phase of shared memory, before passing on a
 * chunk of a message;
 *   <li>{@code reduce}: a part of this rank's share is reduced;
 * <li>{@code map}: this rank has made its part of registered memory; the part has a name until all ranks have mapped
 * it;
 *   <li>{@code mapped}: all ranks have mapped the memory, and its name still exists;
 *   <li>{@code exit}: this rank is done.
 * </ul>
 *
 * and {@code *} is each of them. Thread-safe.
 */
public final class PausePoint {
    /** Pauses no rank. */
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

    /** Makes a point at which the rank runs {@code then}. */
    public static PausePoint at(String place, Runnable then) {
        List<String> words = Arrays.asList(place.split("[:@]", -1));
        int times = words.size() > 2 ? Integer.parseInt(words.get(2)) : 1;
        return new PausePoint(words.get(0), words.get(1), times, then);
    }

    /**
     * Makes the point of the system property {@code jrun.test.pauseAt} ({@code RANK:POINT}) if the property names
     * {@code worldRank}. At the point the rank writes a marker line to stderr and never continues.
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

    /** Pauses here if this is the point. */
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

package io.jrun.launcher.job;

import java.util.Locale;
import java.util.Optional;

/** The signals that jrun handles for its job. */
public enum StopSignal {
    /** The terminal was closed. */
    HUP(1, true),
    /** Ctrl-C. */
    INT(2, true),
    /** A scheduler, or {@code kill}, ends the job. */
    TERM(15, true),
    /** The user or a scheduler requests a checkpoint. */
    USR1(10, false),
    /** The user or a scheduler requests a checkpoint. */
    USR2(12, false);

    private final int number;
    private final boolean endsJob;

    StopSignal(int number, boolean endsJob) {
        this.number = number;
        this.endsJob = endsJob;
    }

    /** The number in Linux. */
    public int number() {
        return number;
    }

    /** Whether the signal ends the job. Other signals are only forwarded. */
    public boolean endsJob() {
        return endsJob;
    }

    /** The signal with this number in Linux. */
    public static Optional<StopSignal> ofNumber(int number) {
        for (StopSignal signal : values()) {
            if (signal.number == number) {
                return Optional.of(signal);
            }
        }
        return Optional.empty();
    }

    /** The signal with a name such as {@code SIGTERM} or {@code term}. */
    public static Optional<StopSignal> of(String name) {
        String shortName = name.strip().toUpperCase(Locale.ROOT).replaceFirst("^SIG", "");
        for (StopSignal signal : values()) {
            if (signal.name().equals(shortName)) {
                return Optional.of(signal);
            }
        }
        return Optional.empty();
    }
}

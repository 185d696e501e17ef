package io.jrun.launcher.doctor;

import java.util.Locale;

/**
 * What a check has found.
 *
 * @param what was looked at: {@code jdk}, {@code backend gloo}
 * @param text what there is, or what is missing and what to do
 */
public record Finding(String what, State state, String text) {
    /** How it stands. */
    public enum State {
        /** As it should be. */
        OK,
        /** Not there; jobs that do not ask for it run without it. */
        ABSENT,
        /** Jobs will fail or be much slower than they could. */
        PROBLEM;

        /** The word in both forms of the report. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static Finding ok(String what, String text) {
        return new Finding(what, State.OK, text);
    }

    static Finding absent(String what, String text) {
        return new Finding(what, State.ABSENT, text);
    }

    static Finding problem(String what, String text) {
        return new Finding(what, State.PROBLEM, text);
    }
}

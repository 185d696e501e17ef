package io.jrun.launcher.doctor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * What a check has found.
 *
 * @param what was looked at: {@code jdk}, {@code backend gloo}
 * @param text what there is, or what is missing and what to do
 * @param values what the text was made of, for machines: texts, numbers and lists by name
 */
public record CheckResult(String what, State state, String text, Map<String, Object> values) {
    public CheckResult {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }

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

    static CheckResult ok(String what, String text) {
        return new CheckResult(what, State.OK, text, Map.of());
    }

    static CheckResult absent(String what, String text) {
        return new CheckResult(what, State.ABSENT, text, Map.of());
    }

    static CheckResult problem(String what, String text) {
        return new CheckResult(what, State.PROBLEM, text, Map.of());
    }

    /** The same with one more value. */
    CheckResult with(String name, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(values);
        more.put(name, value);
        return new CheckResult(what, state, text, more);
    }

    /** The same about {@code host}; without one, about this machine. */
    CheckResult on(String host) {
        return host.isEmpty() ? this : new CheckResult(host + " " + what, state, text, values).with("host", host);
    }
}

package io.jrun.launcher.doctor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The result of a check.
 *
 * @param what the checked thing: {@code jdk}, {@code backend gloo}
 * @param text what exists, or what is missing and what to do
 * @param values the values in the text, for programs: texts, numbers and lists by name
 */
public record CheckResult(String what, CheckState state, String text, Map<String, Object> values) {
    public CheckResult {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }

    /** The state of the checked thing. */
    public enum CheckState {
        /** Jobs can use the thing. */
        OK,
        /** The thing is missing. Jobs that do not request it run without it. */
        ABSENT,
        /** Jobs will fail or run much slower than possible. */
        PROBLEM;

        /** The word for this state in the report and in its JSON. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static CheckResult ok(String what, String text) {
        return new CheckResult(what, CheckState.OK, text, Map.of());
    }

    static CheckResult absent(String what, String text) {
        return new CheckResult(what, CheckState.ABSENT, text, Map.of());
    }

    static CheckResult problem(String what, String text) {
        return new CheckResult(what, CheckState.PROBLEM, text, Map.of());
    }

    /** The same result with one more value. */
    CheckResult with(String name, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(values);
        more.put(name, value);
        return new CheckResult(what, state, text, more);
    }

    /** The same result, about {@code host}. A result without a host is about this machine. */
    CheckResult on(String host) {
        return host.isEmpty() ? this : new CheckResult(host + " " + what, state, text, values).with("host", host);
    }
}

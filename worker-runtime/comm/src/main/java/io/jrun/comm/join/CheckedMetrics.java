package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Metrics;
import io.jrun.comm.control.Control;
import io.jrun.comm.timeline.Timeline;
import java.util.Map;

/** Checks the reports of a rank, and passes them to its connection. */
record CheckedMetrics(int rank, Control control, Timeline timeline) implements Metrics {
    private static final String OTHER_CHARACTERS = "_-./:%@+";

    @Override
    public void report(long step, Map<String, Double> values) {
        if (step < 0) {
            throw refused(step, "a step is 0 or more");
        }
        if (values.size() > MAX_NAMES) {
            throw refused(step, values.size() + " names; a report has at most " + MAX_NAMES);
        }
        for (Map.Entry<String, Double> value : values.entrySet()) {
            check(step, value.getKey(), value.getValue());
        }
        if (!values.isEmpty()) {
            control.report(step, values);
        }
    }

    @Override
    public void span(String name, long step, long beginNanos, long endNanos, long bytes) {
        timeline.span(name, step, beginNanos, endNanos, bytes);
    }

    private void check(long step, String name, Double value) {
        if (name == null || name.isEmpty() || name.length() > MAX_NAME_LENGTH || !hasAllowedCharacters(name)) {
            throw refused(
                    step,
                    "the name '" + name + "' is not allowed; a name has 1 to " + MAX_NAME_LENGTH
                            + " characters: letters, digits and " + OTHER_CHARACTERS);
        }
        if (value == null) {
            throw refused(step, "no value for '" + name + "'");
        }
    }

    private static boolean hasAllowedCharacters(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (!isAllowed(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isAllowed(char c) {
        return (c >= 'a' && c <= 'z')
                || (c >= 'A' && c <= 'Z')
                || (c >= '0' && c <= '9')
                || OTHER_CHARACTERS.indexOf(c) >= 0;
    }

    private CommException refused(long step, String what) {
        return new CommException(ErrorCode.USAGE, "rank " + rank + ": metrics of step " + step + ": " + what);
    }
}

package io.jrun.launcher.cli;

import java.util.List;
import java.util.Map;

/** A value of a job file, with the line in which the value begins. */
sealed interface JobFileValue {
    int line();

    /** The kind of a word, by the rules of YAML or JSON. */
    enum Kind {
        TEXT,
        NUMBER,
        BOOLEAN,
        NOTHING
    }

    /**
     * One word or number.
     *
     * @param text in the form of the file: 1.10 stays 1.10
     */
    record Scalar(int line, Kind kind, String text) implements JobFileValue {}

    record Sequence(int line, List<JobFileValue> items) implements JobFileValue {}

    record Mapping(int line, Map<String, JobFileValue> entries) implements JobFileValue {}
}

package io.jrun.train.jinja;

import java.util.List;
import java.util.Map;

/** A function of templates. */
@FunctionalInterface
interface Callable {
    /**
     * Calls the function.
     *
     * @throws IllegalArgumentException in one line, if the arguments do not fit; the caller adds the line
     */
    Object call(List<Object> arguments, Map<String, Object> named);
}

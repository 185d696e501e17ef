package io.jrun.train.autograd;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Carries exceptions of Java hooks through the autograd engine. An exception crosses native code only as text. The text
 * therefore ends with a number, and the number finds the exception again.
 */
final class HookFailures {
    /**
     * The largest number of exceptions that wait to be claimed. A program that catches exceptions of
     * {@code Tensor.backward} itself never claims them.
     */
    private static final int MAX_UNCLAIMED = 64;

    private static final Pattern NUMBER = Pattern.compile("\\[failure (\\d+) of an autograd hook]");

    private static final Map<Long, Throwable> UNCLAIMED = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Throwable> eldest) {
            return size() > MAX_UNCLAIMED;
        }
    };

    private static long last;

    private HookFailures() {}

    /** The exception for a hook to throw in place of {@code failure}. */
    static RuntimeException record(Throwable failure) {
        long number;
        synchronized (UNCLAIMED) {
            number = ++last;
            UNCLAIMED.put(number, failure);
        }
        return new IllegalStateException(failure + " [failure " + number + " of an autograd hook]", failure);
    }

    /**
     * The exception whose number {@code fromEngine} has in its text; {@code fromEngine} itself if the text has no
     * number.
     */
    static RuntimeException original(RuntimeException fromEngine) {
        Throwable failure = claim(String.valueOf(fromEngine.getMessage()));
        return switch (failure) {
            case null -> fromEngine;
            case RuntimeException e -> e;
            case Error e -> throw e;
            default -> new IllegalStateException(failure);
        };
    }

    private static @Nullable Throwable claim(String text) {
        Matcher number = NUMBER.matcher(text);
        synchronized (UNCLAIMED) {
            return number.find() ? UNCLAIMED.remove(Long.valueOf(number.group(1))) : null;
        }
    }
}

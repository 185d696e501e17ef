package io.jrun.comm.worker;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * A failure of the user's program as text.
 *
 * @param shortText text for users: of each stack the frames of the program, without the runtime's frames above and
 *     below
 * @param fullText text with all frames, for developers of the runtime
 */
record FailureText(String shortText, String fullText) {
    private static final List<String> RUNTIME = List.of("io.jrun.comm.", "io.jrun.train.");
    private static final String START = FailureText.class.getPackageName() + ".";
    private static final String TORCH = "org.bytedeco.";

    /** Removes the runtime's frames from {@code failure} itself, because the process ends with this failure. */
    static FailureText of(Throwable failure) {
        String fullText = print(failure);
        shorten(failure, Collections.newSetFromMap(new IdentityHashMap<>()));
        return new FailureText(print(failure), fullText);
    }

    private static String print(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private static void shorten(Throwable failure, Set<Throwable> seen) {
        if (!seen.add(failure)) {
            return;
        }
        failure.setStackTrace(shortened(List.of(failure.getStackTrace())).toArray(StackTraceElement[]::new));
        if (failure.getCause() != null) {
            shorten(failure.getCause(), seen);
        }
        for (Throwable suppressed : failure.getSuppressed()) {
            shorten(suppressed, seen);
        }
    }

    /**
     * Returns the frames from the program's first to its last frame, and other frames only if the runtime has none
     * among them.
     */
    static List<StackTraceElement> shortened(List<StackTraceElement> frames) {
        int first = 0;
        while (first < frames.size() && !isOfProgram(frames.get(first))) {
            first++;
        }
        if (first == frames.size()) {
            return frames;
        }
        int end = frames.size();
        while (!isOfProgram(frames.get(end - 1))) {
            end--;
        }
        boolean isBelowStart = frames.subList(end, frames.size()).stream()
                .anyMatch(frame -> frame.getClassName().startsWith(START));
        boolean isAboveRuntime = frames.subList(0, first).stream().anyMatch(FailureText::isOfRuntime);
        return frames.subList(isAboveRuntime ? first : 0, isBelowStart ? end : frames.size());
    }

    private static boolean isOfProgram(StackTraceElement frame) {
        return !isOfJdk(frame) && !isOfRuntime(frame) && !frame.getClassName().startsWith(TORCH);
    }

    private static boolean isOfRuntime(StackTraceElement frame) {
        return RUNTIME.stream().anyMatch(frame.getClassName()::startsWith);
    }

    /**
     * Whether the frame is the JDK's. Only the JDK's modules have names, because program and runtime are on the class
     * path.
     */
    private static boolean isOfJdk(StackTraceElement frame) {
        return frame.getModuleName() != null;
    }
}

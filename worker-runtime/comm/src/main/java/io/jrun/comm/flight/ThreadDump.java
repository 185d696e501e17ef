package io.jrun.comm.flight;

import io.jrun.comm.backend.ProgressThread;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The stacks of the relevant threads of this process as text, and the number of the other threads. Stateless. */
public final class ThreadDump {
    /** The limit of frames. Deeper frames are the start of the program. */
    private static final int MAX_FRAMES = 50;

    /** The limit of threads: one main thread and a progress thread for each busy group. */
    private static final int MAX_THREADS = 8;

    private static final String MAIN = "main";
    private static final StackTraceElement[] NO_FRAMES = {};
    private static final List<String> WAYS_IN =
            List.of("io.jrun.comm.worker.", "java.lang.reflect.Method", "jdk.internal.reflect.", "java.lang.invoke.");

    private ThreadDump() {}

    /**
     * Returns the stacks of a process with one rank: of {@code owner}, of the main thread, and of the threads that run
     * operations. If owner and main have ended, returns the stacks of the threads that keep the process alive.
     *
     * @param owner the thread that joined the world
     */
    public static String ofProcess(Thread owner) {
        Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
        Set<Thread> chosen = new LinkedHashSet<>();
        if (all.containsKey(owner)) {
            chosen.add(owner);
        }
        all.keySet().stream().filter(thread -> thread.getName().equals(MAIN)).forEach(chosen::add);
        List<String> lines = new ArrayList<>();
        if (chosen.isEmpty()) {
            lines.add("main has ended; these threads keep the process alive");
            all.keySet().stream().filter(thread -> !thread.isDaemon()).forEach(chosen::add);
        }
        all.keySet().stream().filter(ProgressThread.class::isInstance).forEach(chosen::add);
        chosen.stream()
                .limit(MAX_THREADS)
                .forEach(thread -> lines.addAll(stack(thread, all.getOrDefault(thread, NO_FRAMES))));
        lines.add("and " + (all.size() - Math.min(chosen.size(), MAX_THREADS)) + " other threads");
        return String.join("\n", lines);
    }

    /** Returns the stack of one thread, for a rank that shares its process with other ranks. */
    public static String ofThread(Thread thread) {
        return String.join("\n", stack(thread, thread.getStackTrace()));
    }

    private static List<String> stack(Thread thread, StackTraceElement... frames) {
        List<String> lines = new ArrayList<>();
        lines.add("\"" + thread.getName() + "\" " + thread.getState());
        List<StackTraceElement> ofProgram =
                Arrays.stream(frames).filter(frame -> !isWayIn(frame)).toList();
        ofProgram.stream().limit(MAX_FRAMES).forEach(frame -> lines.add("    at " + words(frame)));
        if (ofProgram.size() > MAX_FRAMES) {
            lines.add("    and " + (ofProgram.size() - MAX_FRAMES) + " frames more");
        }
        return lines;
    }

    /** Whether the frame is in every stack of a program that WorkerMain has started. */
    private static boolean isWayIn(StackTraceElement frame) {
        String type = frame.getClassName();
        return WAYS_IN.stream().anyMatch(type::startsWith);
    }

    /** Returns the frame as text without the names and versions of modules and class loaders. */
    private static String words(StackTraceElement frame) {
        String source = frame.isNativeMethod() ? "Native Method" : String.valueOf(frame.getFileName());
        String line = frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber();
        return frame.getClassName() + "." + frame.getMethodName() + "(" + source + line + ")";
    }
}

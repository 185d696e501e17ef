package io.jrun.launcher.coordinator;

import java.util.Map;

/** Exit codes in words. 128+n may be signal n or an exit code of the program, and the words name both. Stateless. */
public final class ExitCodeDescription {
    private static final int SIGNAL_BASE = 128;
    private static final int MAX_SIGNAL = 64;
    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(1, "SIGHUP"),
            Map.entry(2, "SIGINT"),
            Map.entry(3, "SIGQUIT"),
            Map.entry(4, "SIGILL"),
            Map.entry(5, "SIGTRAP"),
            Map.entry(6, "SIGABRT"),
            Map.entry(7, "SIGBUS"),
            Map.entry(8, "SIGFPE"),
            Map.entry(9, "SIGKILL"),
            Map.entry(10, "SIGUSR1"),
            Map.entry(11, "SIGSEGV"),
            Map.entry(12, "SIGUSR2"),
            Map.entry(13, "SIGPIPE"),
            Map.entry(14, "SIGALRM"),
            Map.entry(15, "SIGTERM"),
            Map.entry(24, "SIGXCPU"),
            Map.entry(25, "SIGXFSZ"),
            Map.entry(31, "SIGSYS"));

    private ExitCodeDescription() {}

    /** A predicate: "exited with code 42", "ended by SIGKILL, or the program's own exit 137". */
    public static String sentence(int exitCode) {
        return isSignal(exitCode)
                ? "ended by " + signalName(exitCode - SIGNAL_BASE) + ", or the program's own exit " + exitCode
                : "exited with code " + exitCode;
    }

    /** A short form for lists: "exit 42", "SIGKILL (137)". */
    public static String brief(int exitCode) {
        return isSignal(exitCode) ? signalName(exitCode - SIGNAL_BASE) + " (" + exitCode + ")" : "exit " + exitCode;
    }

    private static boolean isSignal(int exitCode) {
        return exitCode > SIGNAL_BASE && exitCode <= SIGNAL_BASE + MAX_SIGNAL;
    }

    private static String signalName(int signal) {
        return NAMES.getOrDefault(signal, "signal " + signal);
    }
}

package io.jrun.launcher.job;

/** The streams of jrun itself that are terminals. jrun overwrites lines only on a terminal. */
public record TerminalStreams(boolean stdout, boolean stderr) {
    /** Both streams go to files or pipes. */
    public static final TerminalStreams NONE = new TerminalStreams(false, false);
}

package io.jrun.launcher.job;

/** Which of jrun's own streams are terminals: there, and only there, a line may be painted over. */
public record TerminalStreams(boolean stdout, boolean stderr) {
    /** Both go to files or pipes. */
    public static final TerminalStreams NONE = new TerminalStreams(false, false);
}

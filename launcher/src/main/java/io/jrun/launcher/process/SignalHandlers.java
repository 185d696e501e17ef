package io.jrun.launcher.process;

import io.jrun.launcher.job.StopSignal;
import java.util.Set;
import java.util.function.Consumer;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Handles the signals of {@link StopSignal} for the job. The JDK's only API for signals is sun.misc. */
public final class SignalHandlers {
    private SignalHandlers() {}

    /**
     * Sends each signal in {@code signals} to {@code receiver}, on a thread of the JVM. The other signals of {@link
     * StopSignal} are ignored. Ctrl-Z and other job control signals keep their effect: they stop jrun, and the job
     * continues. HUP, INT and TERM that were ignored when jrun started (nohup, a background job of a shell) stay
     * ignored, because HotSpot then installs no handler.
     */
    public static void install(Set<StopSignal> signals, Consumer<StopSignal> receiver) {
        for (StopSignal signal : StopSignal.values()) {
            SignalHandler handler = signals.contains(signal) ? _ -> receiver.accept(signal) : SignalHandler.SIG_IGN;
            Signal.handle(new Signal(signal.name()), handler);
        }
    }
}

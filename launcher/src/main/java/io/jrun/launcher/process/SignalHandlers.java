package io.jrun.launcher.process;

import io.jrun.launcher.job.StopSignal;
import java.util.Set;
import java.util.function.Consumer;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Takes the signals of {@link StopSignal} for the job. The JDK has no other API for them than sun.misc's. */
public final class SignalHandlers {
    private SignalHandlers() {}

    /**
     * From now on each signal in {@code signals} goes to {@code receiver}, on a thread of the JVM's; the others of {@link
     * StopSignal} are ignored. Ctrl-Z and its kin keep their meaning: they stop jrun, and its job goes on. HUP, INT and
     * TERM that were ignored when jrun started (nohup, a shell's background job) stay so: HotSpot takes no handler then.
     */
    public static void install(Set<StopSignal> signals, Consumer<StopSignal> receiver) {
        for (StopSignal signal : StopSignal.values()) {
            SignalHandler handler = signals.contains(signal) ? _ -> receiver.accept(signal) : SignalHandler.SIG_IGN;
            Signal.handle(new Signal(signal.name()), handler);
        }
    }
}

package io.jrun.launcher.doctor;

import java.io.IOException;
import java.util.List;

/** Checks one thing of this machine. A check changes nothing and ends within seconds. */
@FunctionalInterface
public interface Check {
    /** Returns the results; several if the check covers several things of one kind. */
    List<CheckResult> run() throws IOException, InterruptedException;
}

package io.jrun.launcher.doctor;

import java.io.IOException;
import java.util.List;

/** Looks at one thing of this machine. Changes nothing, and ends within seconds. */
@FunctionalInterface
public interface Check {
    /** What it found; several lines where it looks at several things of a kind. */
    List<CheckResult> look() throws IOException, InterruptedException;
}

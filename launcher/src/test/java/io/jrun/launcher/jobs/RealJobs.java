package io.jrun.launcher.jobs;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** Tests with real processes: each with a folder and a jrun of its own, and nothing left of them on the machine. */
@ExtendWith(NothingLeft.class)
abstract class RealJobs {
    /** With the jobs' logs; it stays after a failure. */
    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path folder;

    JRun jrun;

    @BeforeEach
    void prepare() {
        jrun = new JRun(folder);
    }
}

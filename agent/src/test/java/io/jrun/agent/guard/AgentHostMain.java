package io.jrun.agent.guard;

import io.jrun.agent.TestJob;
import java.nio.file.Path;

/** A JVM that hosts an agent and its coordinator, to be killed from outside. */
final class AgentHostMain {
    private AgentHostMain() {}

    /** Arguments: a folder for logs, and the workers' shell script. Waits without end. */
    public static void main(String[] args) throws Exception {
        TestJob job = TestJob.inProcess(Path.of(args[0]).resolve("logs"));
        job.open();
        job.launch(job.shells(2, args[1]));
        job.exited(0);
    }
}

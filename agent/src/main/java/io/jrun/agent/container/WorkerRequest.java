package io.jrun.agent.container;

import java.util.List;
import java.util.Map;

/**
 * One worker to be started in a container.
 *
 * @param id a file name that no other worker of the job on this node has
 * @param workdir absolute path inside
 * @param environment the variables that the program gets, besides the late ones
 * @param lateEnvironment variables that only the program may get; programs of the node would load libraries by these
 *     variables
 * @param command the program, absolute inside or looked for on its PATH, and its arguments
 */
public record WorkerRequest(
        String id,
        String workdir,
        Map<String, String> environment,
        Map<String, String> lateEnvironment,
        List<String> command) {
    /** Copies map and list. */
    public WorkerRequest {
        environment = Map.copyOf(environment);
        lateEnvironment = Map.copyOf(lateEnvironment);
        command = List.copyOf(command);
    }

    /** The PATH of the worker. */
    public String searchPath() {
        return environment.getOrDefault("PATH", "");
    }
}

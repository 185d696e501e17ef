package io.jrun.agent.container;

import java.util.List;
import java.util.Map;

/**
 * One worker to be started in a container.
 *
 * @param id a file name that no other worker of the job on this node has
 * @param workdir absolute path inside
 * @param searchPath the worker's PATH
 * @param lateEnvironment variables that only the program may get, since programs of the node would load libraries by them
 * @param command the program, absolute inside or looked for on its PATH, and its arguments
 */
public record WorkerRequest(
        String id, String workdir, String searchPath, Map<String, String> lateEnvironment, List<String> command) {
    /** Copies map and list. */
    public WorkerRequest {
        lateEnvironment = Map.copyOf(lateEnvironment);
        command = List.copyOf(command);
    }
}

package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The numeric id of the user who runs the agent. Stateless. */
public final class UserId {
    private UserId() {}

    /** Returns the id from /proc/self. */
    public static int ofThisProcess() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new IllegalStateException("/proc/self cannot be read: " + e.getMessage(), e);
        }
    }
}

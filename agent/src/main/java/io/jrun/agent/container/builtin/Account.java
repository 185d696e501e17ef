package io.jrun.agent.container.builtin;

import io.jrun.agent.node.UserId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;

/** The user that runs the agent. */
record Account(int uid, int gid, String user, String group, String home) {
    static Account ofThisProcess() throws IOException {
        Path self = Path.of("/proc/self");
        PosixFileAttributes attributes = Files.readAttributes(self, PosixFileAttributes.class);
        return new Account(
                UserId.ofThisProcess(),
                (int) Files.getAttribute(self, "unix:gid"),
                attributes.owner().getName(),
                attributes.group().getName(),
                System.getProperty("user.home", "/"));
    }

    boolean isRoot() {
        return uid == 0;
    }
}

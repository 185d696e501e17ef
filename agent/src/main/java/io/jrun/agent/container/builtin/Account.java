package io.jrun.agent.container.builtin;

import io.jrun.agent.node.UserId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The user that runs the agent.
 *
 * @param home absolute path of the home folder; the folder may not exist
 */
record Account(int uid, int gid, String user, String group, String home) {
    /** The home folder of root inside. */
    static final String HOME_OF_ROOT = "/root";

    /**
     * The user of this process.
     *
     * @param environment its HOME is the home folder, because programs inside inherit HOME
     */
    static Account ofThisProcess(Map<String, String> environment) throws IOException {
        Path self = Path.of("/proc/self");
        PosixFileAttributes attributes = Files.readAttributes(self, PosixFileAttributes.class);
        return new Account(
                UserId.ofThisProcess(),
                (int) Files.getAttribute(self, "unix:gid"),
                attributes.owner().getName(),
                attributes.group().getName(),
                home(environment));
    }

    private static String home(Map<String, String> environment) {
        return Stream.of(environment.getOrDefault("HOME", ""), System.getProperty("user.home", ""))
                .filter(path -> path.matches("/[^:\\n]*")) // The path is a field of /etc/passwd.
                .findFirst()
                .orElse("/");
    }

    /** The path of the home folder inside. Root of a user namespace has the home folder at root's. */
    String homeInside(boolean remapRoot) {
        return remapRoot ? HOME_OF_ROOT : home;
    }

    boolean isRoot() {
        return uid == 0;
    }
}

package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.node.SearchPath;
import java.nio.file.Path;
import java.util.Map;

/** The paths of the node's programs that the engine uses. */
public record HostTools(
        String setsid,
        String setpriv,
        String unshare,
        String nsenter,
        String mount,
        String umount,
        String env,
        String flock) {
    private static final String UTIL_LINUX = "util-linux 2.38";

    static HostTools find(Map<String, String> environment) throws ContainerException {
        return new HostTools(
                locate("setsid", UTIL_LINUX, environment),
                locate("setpriv", UTIL_LINUX, environment),
                locate("unshare", UTIL_LINUX, environment),
                locate("nsenter", UTIL_LINUX, environment),
                locate("mount", UTIL_LINUX, environment),
                locate("umount", UTIL_LINUX, environment),
                locate("env", "coreutils", environment),
                locate("flock", UTIL_LINUX, environment));
    }

    /** The word for env(1) that gives a program of the node the PATH by which jrun finds the node's programs. */
    public static String pathOfNode(Map<String, String> environment) {
        return "PATH=" + SearchPath.ofTools(environment).text();
    }

    /** The absolute path of a program. The PATH of a worker may differ, so commands need absolute paths. */
    public static String locate(String program, String packageName, Map<String, String> environment)
            throws ContainerException {
        return SearchPath.ofTools(environment)
                .find(program)
                .map(Path::toString)
                .orElseThrow(() -> new ContainerException("containers need the program '" + program
                        + "', which is not on PATH on this node; install " + packageName));
    }
}

package io.jrun.agent.worker;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a worker in a container inherits: the node's variables, under the image's. {@code --env} and the job file come over both.
 *
 * @param image the image's variables
 * @param chosen names of variables that are the node's, whatever the image says
 */
record ContainerEnvironment(Map<String, String> image, List<String> chosen) {
    /** What a shell looks in, where an image names nothing. */
    static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** Of the node, they name what an image has elsewhere or not at all; locales and TMPDIR too. */
    private static final List<String> NEVER_INHERITED =
            List.of("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "JAVA_HOME", "LANG", "LANGUAGE", "LC_ALL", "TMPDIR");

    Map<String, String> over(Map<String, String> node) {
        Map<String, String> inherited = new HashMap<>(node);
        NEVER_INHERITED.forEach(inherited::remove);
        inherited.put("PATH", PATH);
        inherited.putAll(image);
        for (String name : chosen) {
            String value = node.get(name);
            if (value != null) {
                inherited.put(name, value);
            }
        }
        return inherited;
    }
}

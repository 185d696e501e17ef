package io.jrun.agent.worker;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The variables that a worker in a container inherits: the node's variables, overridden by the image's variables. The
 * variables of {@code --env} and of the job file replace both.
 *
 * @param image the image's variables
 * @param chosen names of {@code --container-env}: these variables have the node's values, also if the image has other
 *     values
 */
record ContainerEnvironment(Map<String, String> image, List<String> chosen) {
    /** The search path of an image without a PATH. */
    static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** Variables of the node that name folders or locales. An image has other folders and locales, or none. */
    private static final List<String> NEVER_INHERITED =
            List.of("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "JAVA_HOME", "LANG", "LANGUAGE", "LC_ALL", "TMPDIR");

    /** The inherited variables of a worker on a node with the variables {@code node}. */
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

    /**
     * One line about the variables that have different values in the image, on the node, or in {@code --env}, and about
     * the value that each has inside. Empty if there are no such variables.
     *
     * @param node variables of the node
     * @param ofJob variables of {@code --env} and of the job file
     */
    Optional<String> conflicts(Map<String, String> node, Map<String, String> ofJob) {
        List<String> parts = new ArrayList<>();
        add(parts, "the value of --env or of the job file", differing(ofJob.keySet(), ofJob));
        Collection<String> ofNode = differing(chosen, node);
        ofNode.removeAll(ofJob.keySet());
        add(parts, "the node's value, by --container-env", ofNode);
        Collection<String> ofImage = differing(image.keySet(), node);
        ofImage.removeAll(ofJob.keySet());
        ofImage.removeAll(chosen);
        ofImage.removeAll(NEVER_INHERITED);
        add(parts, "the image's value, not the node's", ofImage);
        return parts.isEmpty()
                ? Optional.empty()
                : Optional.of("variables with several values: " + String.join("; ", parts));
    }

    /** The {@code names} that {@code values} and the image set to different values, in the order of the alphabet. */
    private Collection<String> differing(Collection<String> names, Map<String, String> values) {
        Collection<String> differing = new TreeSet<>(names);
        differing.removeIf(name -> !image.containsKey(name)
                || !values.containsKey(name)
                || Objects.equals(image.get(name), values.get(name)));
        return differing;
    }

    private static void add(List<String> parts, String origin, Collection<String> names) {
        if (!names.isEmpty()) {
            parts.add(String.join(", ", names) + (names.size() == 1 ? " has " : " have ") + origin);
        }
    }
}

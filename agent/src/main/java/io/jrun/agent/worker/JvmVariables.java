package io.jrun.agent.worker;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The variables with options for every JVM. They are for the workers: an option such as {@code -XX:+UseG1GC} would stop
 * the JVMs of the launcher and the agent, which have options of their own. scripts/jrun therefore renames the variables.
 * Stateless.
 */
public final class JvmVariables {
    /** The names, as the JVM reads them. */
    static final List<String> NAMES = List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

    /** The beginning of the names that scripts/jrun gives. */
    private static final String HIDDEN = "JRUN_HIDDEN_";

    private JvmVariables() {}

    /** Returns {@code environment} with the names that the user has given. */
    public static Map<String, String> restored(Map<String, String> environment) {
        Map<String, String> restored = new HashMap<>(environment);
        for (String name : NAMES) {
            String hidden = restored.remove(HIDDEN + name);
            if (hidden != null) {
                restored.put(name, hidden);
            }
        }
        return restored;
    }
}

package io.jrun.agent.container;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A namespace of {@code --container-unshare}: the workers get their own namespace instead of the node's namespace. */
public enum UnsharedNamespace {
    NET,
    IPC,
    UTS,
    PID;

    /** The word of unshare(1) and of the option. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The name of the namespace in a sentence. */
    public String nameInText() {
        return this == NET ? "network" : name();
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text is not a list of namespaces
     */
    public static List<UnsharedNamespace> parseAll(String text) {
        List<UnsharedNamespace> namespaces = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            UnsharedNamespace namespace = parse(word);
            if (!namespaces.contains(namespace)) {
                namespaces.add(namespace);
            }
        }
        return List.copyOf(namespaces);
    }

    private static UnsharedNamespace parse(String word) {
        for (UnsharedNamespace namespace : values()) {
            if (namespace.word().equals(word)) {
                return namespace;
            }
        }
        throw new ContainerFormatException(
                "unknown namespace '" + word + "'; the namespaces are net, ipc, uts and pid");
    }
}

package io.jrun.agent.container;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A namespace of {@code --container-unshare}: the workers get one of their own instead of the node's. */
public enum UnsharedNamespace {
    NET,
    IPC,
    UTS,
    PID;

    /** As unshare(1) and the option call it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text is no list of namespaces
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
                "'" + word + "' is no namespace to unshare; there are net, ipc, uts and pid");
    }
}

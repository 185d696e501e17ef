package io.jrun.agent.container;

import java.util.Locale;

/** The JDK that runs Java programs in a container: {@code --container-java}. */
public enum JavaChoice {
    /** The image's, if the image has one that is new enough; else the node's. */
    AUTO,
    /** The image's. */
    IMAGE,
    /** The node's, mounted read-only. */
    HOST;

    /** As the option calls it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text is none of the words
     */
    public static JavaChoice parse(String text) {
        for (JavaChoice choice : values()) {
            if (choice.word().equals(text)) {
                return choice;
            }
        }
        throw new ContainerFormatException("'" + text + "' is no choice of a JDK; there are auto, image and host");
    }
}

package io.jrun.agent.container;

import java.util.Locale;

/** The JDK that runs Java programs in a container: {@code --container-java}. */
public enum JavaChoice {
    /** The image's JDK if the JDK is new enough, else the node's JDK. */
    AUTO,
    /** The image's JDK. */
    IMAGE,
    /** The node's JDK, mounted read-only. */
    HOST;

    /** The word of the option. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text is not one of the words
     */
    public static JavaChoice parse(String text) {
        for (JavaChoice choice : values()) {
            if (choice.word().equals(text)) {
                return choice;
            }
        }
        throw new ContainerFormatException(
                "'" + text + "' is not a choice of a JDK; the choices are auto, image and host");
    }
}

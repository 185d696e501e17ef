package io.jrun.agent.container;

import java.util.Map;

/**
 * The settings of an image for the programs that run in the image.
 *
 * @param environment the variables of the image
 * @param workdir the working folder; empty if the image names none
 * @param hasEntrypoint whether the image has a program that starts the other programs
 */
public record ImageSettings(Map<String, String> environment, String workdir, boolean hasEntrypoint) {
    /** Copies the map. */
    public ImageSettings {
        environment = Map.copyOf(environment);
    }
}

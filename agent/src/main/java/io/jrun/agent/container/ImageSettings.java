package io.jrun.agent.container;

import java.util.Map;

/**
 * The settings of an image for the programs that run in the image.
 *
 * @param environment its variables
 * @param workdir its working folder; empty if it names none
 * @param hasEntrypoint whether it has a program through which others are started
 */
public record ImageSettings(Map<String, String> environment, String workdir, boolean hasEntrypoint) {
    /** Copies the map. */
    public ImageSettings {
        environment = Map.copyOf(environment);
    }
}

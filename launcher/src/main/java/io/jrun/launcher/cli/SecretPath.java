package io.jrun.launcher.cli;

import java.nio.file.Path;

/** The default path of the secret of standing agents. Stateless. */
final class SecretPath {
    private SecretPath() {}

    /** {@code $XDG_CONFIG_HOME/jrun/secret}, {@code ~/.config/jrun/secret} by default. The file may be missing. */
    static Path standard(CommandContext commandContext) {
        String config = commandContext.variable("XDG_CONFIG_HOME", "");
        Path folder = config.isEmpty()
                ? commandContext.resolve(commandContext.variable("HOME", "")).resolve(".config")
                : commandContext.resolve(config);
        return folder.resolve("jrun/secret");
    }
}

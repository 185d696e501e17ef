package io.jrun.launcher.cli;

import java.util.List;

/** An option of jrun or of one of its commands, as the tables of options describe the option. */
public sealed interface CommandLineOption permits LaunchOption, CommandOption, SbatchOption, ForeignOption {
    /** All names with their dashes. Inside a name, users may also write underscores for dashes. */
    List<String> names();

    /** The label of the value in the help; empty for a switch. */
    String parameter();

    /** The text of the option in the help. */
    String description();

    /** Whether the option takes no value. */
    default boolean isSwitch() {
        return parameter().isEmpty();
    }

    /** The first long name, or the short name without a long one. */
    default String longName() {
        return names().stream()
                .filter(name -> name.startsWith("--"))
                .findFirst()
                .orElse(names().getFirst());
    }

    /** The long name without dashes in front: the key in a job file. */
    default String key() {
        return longName().substring(2);
    }
}

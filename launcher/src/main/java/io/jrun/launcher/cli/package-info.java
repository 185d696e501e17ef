/**
 * Makes a {@code JobSpec} from a command line, a job file and the environment, or an error of one line.
 * {@code LaunchOption}, {@code CommandOption} and {@code SubCommand} are the tables. {@code CommandModel} makes
 * picocli's model of them, {@code CommandLineParser} parses with the model, {@code HelpText} and
 * {@code CompletionScript} show them. Entry classes: {@code ParsedCommand} and {@code JobRequest}.
 */
@NullMarked
package io.jrun.launcher.cli;

import org.jspecify.annotations.NullMarked;

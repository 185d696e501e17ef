package io.jrun.launcher.cli;

import java.util.List;
import java.util.Optional;

/**
 * Names of torchrun's options that are cut short. torchrun accepts the beginning of a name if no other option begins so:
 * {@code --nproc=2}. jrun accepts the same, except where an option of jrun begins so too. Stateless.
 */
final class Abbreviation {
    private Abbreviation() {}

    /** The whole word for {@code word}, with its value; empty if no option or several options begin so. */
    static Optional<String> expand(String word) {
        if (!word.startsWith("--") || word.length() < "--xx".length()) {
            return Optional.empty();
        }
        int equals = word.indexOf('=');
        String name = CommandModel.dashed(equals < 0 ? word : word.substring(0, equals));
        if (ForeignOption.of(name).isPresent() || SbatchOption.of(name).isPresent()) {
            return Optional.empty(); // the name has a meaning in another launcher
        }
        List<CommandLineOption> begun = CommandModel.ofJobs().stream()
                .filter(option -> option.names().stream().anyMatch(known -> known.startsWith(name)))
                .toList();
        return begun.size() == 1 && begun.getFirst() instanceof LaunchOption option && option.isOfTorchrun()
                ? Optional.of(wholeName(option, name) + (equals < 0 ? "" : word.substring(equals)))
                : Optional.empty();
    }

    private static String wholeName(LaunchOption option, String name) {
        return option.names().stream()
                .filter(known -> known.startsWith(name))
                .findFirst()
                .orElseThrow();
    }
}

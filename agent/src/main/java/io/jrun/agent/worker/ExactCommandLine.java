package io.jrun.agent.worker;

import java.util.List;
import org.apache.commons.exec.CommandLine;

/**
 * A command line that reaches exec(2) unchanged. The class of Commons Exec trims arguments, rewrites slashes of the
 * executable and may add quotes.
 */
final class ExactCommandLine extends CommandLine {
    private final List<String> words;

    ExactCommandLine(List<String> words) {
        super(words.getFirst());
        this.words = List.copyOf(words);
    }

    @Override
    public String[] getArguments() {
        return words.subList(1, words.size()).toArray(String[]::new);
    }

    @Override
    public String[] toStrings() {
        return words.toArray(String[]::new);
    }
}

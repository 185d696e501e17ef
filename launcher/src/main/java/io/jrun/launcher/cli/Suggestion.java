package io.jrun.launcher.cli;

import io.jrun.comm.spelling.SimilarName;
import java.util.Collection;

/** The end of a message about a mistyped word. Stateless. */
public final class Suggestion {
    private Suggestion() {}

    /** "; did you mean 'x'?" for the candidate that was probably meant, or "." if none was. */
    public static String didYouMean(String word, Collection<String> candidates) {
        return SimilarName.of(word, candidates)
                .map(name -> "; did you mean '" + name + "'?")
                .orElse(".");
    }
}

package io.jrun.launcher.view;

import io.jrun.agent.log.LogBytes;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Finds the lines of a file that contain a text; letters match in both cases. Holds only a piece of a line, because a
 * worker may print without an end of line. Confined to one thread.
 */
final class LogSearch {
    /** The characters of a line that are held; a longer text is not searched. */
    private static final int PIECE = 1 << 16;

    /** The characters of a found line. */
    private static final int MOST_SHOWN = 4096;

    private final String wanted;

    /** @param text the text; its first 32,768 characters count */
    LogSearch(String text) {
        this.wanted = text.substring(0, Math.min(text.length(), PIECE / 2)).toLowerCase(Locale.ROOT);
    }

    /**
     * Gives {@code found} the lines with the text, each once: from its begin, or from the text if this is far inside.
     *
     * @param mostCharacters the characters to read at most
     * @return the number of characters that were read
     */
    long read(Path file, long mostCharacters, int mostMatches, Consumer<String> found) throws IOException {
        long read = 0;
        int matches = 0;
        boolean isFound = false;
        StringBuilder piece = new StringBuilder();
        try (Reader in =
                new BufferedReader(new InputStreamReader(LogBytes.newInputStream(file), StandardCharsets.UTF_8))) {
            for (int next = in.read(); matches < mostMatches; next = in.read()) {
                boolean isEnd = next < 0 || read >= mostCharacters;
                if (!isEnd && next != '\n') {
                    piece.append((char) next);
                }
                if (isEnd || next == '\n' || piece.length() == PIECE) {
                    if (!isFound && piece.length() > 0 && matches(piece, found)) {
                        isFound = true;
                        matches++;
                    }
                    // The text may begin in this piece and end in the next one.
                    piece.delete(0, next == '\n' ? piece.length() : Math.max(0, piece.length() - wanted.length() + 1));
                    isFound &= next != '\n';
                }
                if (isEnd) {
                    break;
                }
                read++;
            }
        }
        return read;
    }

    private boolean matches(StringBuilder piece, Consumer<String> found) {
        int at = piece.toString().toLowerCase(Locale.ROOT).indexOf(wanted);
        if (at < 0) {
            return false;
        }
        int from = at + wanted.length() <= MOST_SHOWN ? 0 : at;
        int to = Math.min(piece.length(), from + MOST_SHOWN);
        boolean endsWithReturn = to > from && piece.charAt(to - 1) == '\r';
        found.accept(piece.substring(from, endsWithReturn ? to - 1 : to));
        return true;
    }
}

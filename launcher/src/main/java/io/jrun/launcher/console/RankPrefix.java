package io.jrun.launcher.console;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Adds the prefix {@code [3@node1] }, or a prefix of the user's choice, to each line. On a terminal each rank has its own colour. A line that is too long
 * arrives in pieces: each piece except the first has the prefix {@code [3@node1+] }. Immutable.
 */
public final class RankPrefix {
    private static final int[] COLOURS = {36, 32, 33, 35, 34, 96, 92, 93, 95, 94};

    /** The placeholders of torchrun's template, with and without braces, and the dollar sign. */
    private static final Pattern PLACEHOLDER = Pattern.compile("\\$(?:(\\$)|\\{([a-z_]+)}|([a-z_]+))");

    private final boolean shown;
    private final Optional<Template> template;
    private final boolean colouredOut;
    private final boolean colouredErr;

    /**
     * A prefix of the user's choice.
     *
     * @param text the prefix, in which {@code ${rank}}, {@code ${local_rank}}, {@code ${role_name}} and {@code
     *     ${hostname}} stand for the worker's
     */
    public record Template(String text, String role) {
        String of(int rank, WorkerPlace place) {
            Map<String, String> values = Map.of(
                    "rank",
                    Integer.toString(rank),
                    "local_rank",
                    Integer.toString(place.localRank()),
                    "role_name",
                    role,
                    "hostname",
                    place.host());
            return PLACEHOLDER.matcher(text).replaceAll(found -> {
                String name = found.group(2) == null ? found.group(3) : found.group(2);
                return Matcher.quoteReplacement(name == null ? "$" : values.getOrDefault(name, found.group()));
            });
        }
    }

    /**
     * @param shown whether lines get a prefix
     * @param template the prefix; empty for rank and host
     */
    public RankPrefix(boolean shown, Optional<Template> template, boolean colouredOut, boolean colouredErr) {
        this.shown = shown;
        this.template = template;
        this.colouredOut = colouredOut;
        this.colouredErr = colouredErr;
    }

    /**
     * Returns the lines of {@code data} with the prefix. Adds a missing last newline and changes no other byte.
     *
     * @param continued whether {@code data} begins inside a line
     */
    byte[] apply(int rank, WorkerPlace place, boolean stderr, byte[] data, boolean continued) {
        if (data.length == 0) {
            return data;
        }
        byte[] label = label(rank, place, stderr, false);
        ByteArrayOutputStream lines = new ByteArrayOutputStream(data.length + data.length / 8 + 2 * label.length);
        int start = 0;
        while (start < data.length) {
            int end = start;
            while (end < data.length && data[end] != '\n') {
                end++;
            }
            lines.writeBytes(start == 0 && continued ? label(rank, place, stderr, true) : label);
            lines.write(data, start, end - start);
            lines.write('\n');
            start = end + 1;
        }
        return lines.toByteArray();
    }

    /** The prefix of a line or of a further piece of a line; empty if lines have no prefix. */
    byte[] label(int rank, WorkerPlace place, boolean stderr, boolean continued) {
        if (!shown) {
            return new byte[0];
        }
        boolean coloured = stderr ? colouredErr : colouredOut;
        String text = template.map(chosen -> chosen.of(rank, place))
                .orElseGet(() -> "[" + rank + "@" + place.host() + (continued ? "+]" : "]"));
        String shownText = coloured ? "\033[" + COLOURS[rank % COLOURS.length] + "m" + text + "\033[0m" : text;
        return (shownText + (template.isPresent() ? "" : " ")).getBytes(StandardCharsets.UTF_8);
    }
}

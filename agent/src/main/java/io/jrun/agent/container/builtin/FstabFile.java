package io.jrun.agent.container.builtin;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The mounts that one {@code mount -a} makes, in order. With one process for each mount the start of a container takes
 * about twice as long. Source of the escapes: fstab(5). Confined to one thread.
 */
final class FstabFile {
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");
    private static final int OCTAL = 8;

    private final List<String> lines = new ArrayList<>();

    void add(String source, String target, String type, List<String> options) {
        String words = options.isEmpty() ? "defaults" : String.join(",", options);
        lines.add(escape(source) + " " + escape(target) + " " + type + " " + escape(words) + " 0 0");
    }

    /** Removes the mounts at a path and below. */
    void remove(String target) {
        String point = escape(target);
        lines.removeIf(line -> (line.split(" ", -1)[1] + "/").startsWith(point + "/"));
    }

    String text() {
        return String.join("\n", lines) + "\n";
    }

    static String escape(String text) {
        StringBuilder escaped = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case ' ' -> escaped.append("\\040");
                case '\t' -> escaped.append("\\011");
                case '\n' -> escaped.append("\\012");
                case '\\' -> escaped.append("\\134");
                default -> escaped.append(c);
            }
        }
        return escaped.toString();
    }

    static String unescape(String text) {
        Matcher escapes = ESCAPE.matcher(text);
        return escapes.replaceAll(
                found -> Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(found.group(1), OCTAL))));
    }
}

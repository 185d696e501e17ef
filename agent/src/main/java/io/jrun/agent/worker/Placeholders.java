package io.jrun.agent.worker;

import java.util.regex.Pattern;

/**
 * Replaces {@code ${rank}} and {@code ${local_rank}} in the arguments of a program by the numbers of the worker. {@code
 * $${rank}} gives the text {@code ${rank}}. All other text stays unchanged. Stateless.
 */
public final class Placeholders {
    private static final Pattern PLACEHOLDER = Pattern.compile("(\\$?)\\$\\{(rank|local_rank)}");

    private Placeholders() {}

    /** Returns {@code argument} for one worker. */
    public static String expand(String argument, int rank, int localRank) {
        if (argument.indexOf('$') < 0) {
            return argument;
        }
        return PLACEHOLDER.matcher(argument).replaceAll(found -> {
            if (!found.group(1).isEmpty()) {
                return "\\${" + found.group(2) + "}";
            }
            return Integer.toString(found.group(2).equals("rank") ? rank : localRank);
        });
    }
}

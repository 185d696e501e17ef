package io.jrun.agent.worker;

import java.util.regex.Pattern;

/**
 * {@code ${rank}} and {@code ${local_rank}} in a program's arguments stand for the worker's numbers. A further dollar sign in
 * front, {@code $${rank}}, keeps the text and loses that sign. Anything else stays as it is. Stateless.
 */
public final class Placeholders {
    private static final Pattern PLACEHOLDER = Pattern.compile("(\\$?)\\$\\{(rank|local_rank)}");

    private Placeholders() {}

    /** {@code argument} for one worker. */
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

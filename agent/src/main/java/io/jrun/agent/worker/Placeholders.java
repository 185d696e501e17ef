package io.jrun.agent.worker;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Replaces placeholders in the arguments of a program by the numbers of the worker, as torchrun does: {@code
 * ${local_rank}} and {@code $local_rank}, and {@code $$} by one dollar sign. {@code ${rank}} is jrun's own. All other
 * text stays unchanged. Stateless.
 *
 * <p>A shell and other interpreters give {@code $$} and {@code $local_rank} a meaning of their own. In the text after
 * {@code -c} or {@code -e}, only the forms with braces are placeholders, and {@code $${rank}} is the text {@code
 * ${rank}}.
 */
public final class Placeholders {
    private static final Pattern ANY =
            Pattern.compile("\\$(?:(\\$)|\\{(rank|local_rank)}|(local_rank)(?![A-Za-z0-9_]))");

    private static final Pattern IN_PROGRAM_TEXT =
            Pattern.compile("\\$(?:(\\$(?=\\{(?:rank|local_rank)}))" + "|\\{(rank|local_rank)})");

    /** The option before a program text, also among other letters: -c, -lc, -ec. */
    private static final Pattern BEFORE_PROGRAM_TEXT = Pattern.compile("-[A-Za-z]{0,3}[ce]");

    private Placeholders() {}

    /** Returns {@code arguments} for one worker. */
    public static List<String> expand(List<String> arguments, int rank, int localRank) {
        List<String> expanded = new ArrayList<>();
        String before = "";
        for (String argument : arguments) {
            boolean isProgramText = BEFORE_PROGRAM_TEXT.matcher(before).matches();
            expanded.add(expand(isProgramText ? IN_PROGRAM_TEXT : ANY, argument, rank, localRank));
            before = argument;
        }
        return expanded;
    }

    private static String expand(Pattern placeholders, String argument, int rank, int localRank) {
        if (argument.indexOf('$') < 0) {
            return argument;
        }
        return placeholders.matcher(argument).replaceAll(found -> {
            if (found.group(1) != null) {
                return "\\$";
            }
            return Integer.toString("rank".equals(found.group(2)) ? rank : localRank);
        });
    }
}

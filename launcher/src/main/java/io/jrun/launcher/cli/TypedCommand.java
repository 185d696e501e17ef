package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.List;

/** A command line as its user typed it, for a job's record: without the values of {@code --env}, which may be secrets. Stateless. */
public final class TypedCommand {
    private TypedCommand() {}

    /** The words with {@code jrun} before them. */
    public static List<String> of(List<String> args) {
        List<String> typed = new ArrayList<>(List.of("jrun"));
        boolean isVariable = false;
        for (String word : args) {
            if (isVariable) {
                typed.add(withoutValue(word, ""));
            } else if (word.startsWith("--env=")) {
                typed.add(withoutValue(word, "--env="));
            } else {
                typed.add(word);
            }
            isVariable = !isVariable && word.equals("--env");
        }
        return typed;
    }

    private static String withoutValue(String word, String start) {
        int equals = word.indexOf('=', start.length());
        return equals < 0 ? word : word.substring(0, equals) + "=...";
    }
}

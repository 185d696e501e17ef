package io.jrun.launcher.slurm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads Slurm's numbers for each node of a list: {@code 16(x2),8} is 16, 16, 8. Stateless. */
final class RepeatedNumbers {
    private static final Pattern REPEATED = Pattern.compile("([0-9]{1,6})(?:\\(x([0-9]{1,6})\\))?");

    private RepeatedNumbers() {}

    /** Returns the numbers of {@code text}, empty if a part of it is unreadable. */
    static List<Integer> of(String text) {
        List<Integer> numbers = new ArrayList<>();
        for (String part : text.split(",", -1)) {
            Matcher matcher = REPEATED.matcher(part);
            if (!matcher.matches()) {
                return List.of();
            }
            int times = matcher.group(2) == null ? 1 : Integer.parseInt(matcher.group(2));
            numbers.addAll(Collections.nCopies(times, Integer.parseInt(matcher.group(1))));
        }
        return numbers;
    }
}

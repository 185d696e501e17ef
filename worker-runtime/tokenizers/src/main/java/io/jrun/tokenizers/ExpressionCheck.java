package io.jrun.tokenizers;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Finds regular expressions whose time may grow exponentially with the text: an unlimited repetition of a group that has
 * an unlimited repetition or a choice inside. The native library ends the process when an expression goes back ten
 * million times. The tokenizers of published models have no such expression.
 */
final class ExpressionCheck {
    /** A larger upper limit of a repetition counts as unlimited. */
    private static final int SMALL_LIMIT = 16;

    private static final char END = '\0';

    private final String expression;
    private final Deque<Group> open = new ArrayDeque<>();
    private int at;

    /** The content of a group. */
    private static final class Group {
        private boolean hasRepetition;
        private boolean hasChoice;
    }

    private ExpressionCheck(String expression) {
        this.expression = expression;
    }

    /** Whether a group with a repetition or a choice is repeated without a limit. */
    static boolean mayBeExponential(String expression) {
        return new ExpressionCheck(expression).find();
    }

    private boolean find() {
        open.push(new Group());
        while (at < expression.length()) {
            char c = next();
            switch (c) {
                case '(' -> open.push(new Group());
                case '|' -> current().hasChoice = true;
                case ')' -> {
                    if (endGroup()) {
                        return true;
                    }
                }
                default -> {
                    skipAtom(c);
                    current().hasRepetition |= isRepeated();
                }
            }
        }
        return false;
    }

    private Group current() {
        Group group = open.peek();
        if (group == null) {
            group = new Group(); // more groups end than begin: the library refuses the expression
            open.push(group);
        }
        return group;
    }

    /** Whether the group that ends here may be exponential. */
    private boolean endGroup() {
        Group inner = current();
        open.pop();
        boolean isRepeated = isRepeated();
        Group outer = current();
        outer.hasRepetition |= inner.hasRepetition || isRepeated;
        outer.hasChoice |= inner.hasChoice;
        return isRepeated && (inner.hasRepetition || inner.hasChoice);
    }

    /** Skips the rest of an escape or of a class of characters. */
    private void skipAtom(char first) {
        if (first == '\\') {
            char kind = next();
            if (peek() == '{' && "pPxuko".indexOf(kind) >= 0) {
                skipBehind('}');
            }
        } else if (first == '[') {
            skipClass();
        }
    }

    /** Classes may have classes inside. */
    private void skipClass() {
        int depth = 1;
        if (peek() == '^') {
            at++;
        }
        if (peek() == ']') {
            at++; // a literal
        }
        while (depth > 0 && at < expression.length()) {
            char c = next();
            if (c == '\\') {
                at++;
            } else if (c == '[') {
                depth++;
            } else if (c == ']') {
                depth--;
            }
        }
    }

    /** Skips the quantifiers of an atom. Whether one of them has no small limit. */
    private boolean isRepeated() {
        boolean isRepeated = false;
        while (true) {
            char c = peek();
            if (c == '*' || c == '+') {
                isRepeated = true;
                at++;
            } else if (c == '?') {
                at++;
            } else if (c == '{') {
                int begin = at + 1;
                skipBehind('}');
                isRepeated |= !hasSmallLimit(expression.substring(begin, Math.max(begin, at - 1)));
            } else {
                return isRepeated;
            }
        }
    }

    /** {@code 3}, {@code 1,3} and {@code ,3}, but not {@code 1,}. */
    private static boolean hasSmallLimit(String range) {
        String limit = range.substring(range.indexOf(',') + 1);
        return limit.matches("\\d{1,9}") && Integer.parseInt(limit) <= SMALL_LIMIT;
    }

    private void skipBehind(char end) {
        int found = expression.indexOf(end, at);
        at = found < 0 ? expression.length() : found + 1;
    }

    private char next() {
        return at < expression.length() ? expression.charAt(at++) : END;
    }

    private char peek() {
        return at < expression.length() ? expression.charAt(at) : END;
    }
}

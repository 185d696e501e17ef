package io.jrun.models.lora;

import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A text whose characters can be read a limited number of times. The expressions of an adapter_config.json come from
 * others, and an expression may need an exponential time for a short text.
 */
final class BoundedText implements CharSequence {
    private static final int MAX_READS = 100_000;
    private static final int MAX_EXPRESSION = 1_000;

    private final String text;
    private final String expression;
    private int reads;

    private BoundedText(String text, String expression) {
        this.text = text;
        this.expression = expression;
    }

    /**
     * Whether an expression matches a whole text.
     *
     * @throws IllegalArgumentException if the expression is malformed, too long or takes too long; the message is one
     *     line with the expression
     */
    static boolean matches(String expression, String text) {
        if (expression.length() > MAX_EXPRESSION) {
            throw new IllegalArgumentException(
                    "an expression has " + expression.length() + " characters, expected at most " + MAX_EXPRESSION);
        }
        try {
            return Pattern.compile(expression)
                    .matcher(new BoundedText(text, expression))
                    .matches();
        } catch (PatternSyntaxException e) {
            throw new IllegalArgumentException(
                    "the expression '" + expression + "' is malformed: " + e.getDescription(), e);
        }
    }

    @Override
    public char charAt(int index) {
        reads++;
        if (reads > MAX_READS) {
            throw new IllegalArgumentException("the expression '" + expression + "' takes too long");
        }
        return text.charAt(index);
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
        return text.substring(start, end);
    }

    @Override
    public String toString() {
        return text;
    }
}

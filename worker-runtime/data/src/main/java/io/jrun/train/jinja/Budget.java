package io.jrun.train.jinja;

/** The limits of one rendering: steps, depth of calls, and characters of a text. */
final class Budget {
    private static final long MAX_STEPS = 1_000_000;
    private static final int MAX_DEPTH = 100;
    private static final int MAX_CHARACTERS = 64 << 20;

    private long steps;
    private int depth;

    /** Counts a step at a line. */
    void step(int line) {
        steps++;
        if (steps > MAX_STEPS) {
            throw new TemplateException(line, "the template took more than " + MAX_STEPS + " steps");
        }
    }

    /** Begins a call of a macro. */
    void enter(int line) {
        depth++;
        if (depth > MAX_DEPTH) {
            throw new TemplateException(line, "calls of macros are nested more than " + MAX_DEPTH + " deep");
        }
    }

    /** Ends a call of a macro. */
    void leave() {
        depth--;
    }

    /** Checks the length of a text before the text is made. */
    static void requireLength(long characters) {
        if (characters > MAX_CHARACTERS) {
            throw new IllegalArgumentException(
                    "a text of " + characters + " characters is longer than the limit of " + MAX_CHARACTERS);
        }
    }
}

package io.jrun.train.jinja;

/**
 * A word of a template.
 *
 * @param text of a text and a string without quotes and escapes
 */
record Token(Kind kind, String text, int line) {
    enum Kind {
        /** Text outside of tags. */
        TEXT,
        /** The begin of an output, <code>{{</code>. */
        OUTPUT,
        /** The begin of a block, <code>{%</code>. */
        BLOCK,
        /** The end of an output or a block. */
        CLOSE,
        NAME,
        STRING,
        INTEGER,
        DECIMAL,
        OPERATOR,
        END
    }

    boolean is(Kind other, String word) {
        return kind == other && text.equals(word);
    }
}

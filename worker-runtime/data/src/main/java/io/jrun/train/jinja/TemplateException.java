package io.jrun.train.jinja;

/** A template cannot be read or rendered. The message has one line and names the line of the template. */
public final class TemplateException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TemplateException(int line, String message) {
        super("line " + line + " of the template: " + message);
    }
}

package io.jrun.train.token;

/** A document, or a part of a large document. */
public final class TextPart {
    private final String location;
    private final byte[] text;
    private final boolean endsDocument;

    TextPart(String location, byte[] text, boolean endsDocument) {
        this.location = location;
        this.text = text;
        this.endsDocument = endsDocument;
    }

    /** File and record, for errors. */
    public String location() {
        return location;
    }

    /** The bytes, as a rule UTF-8. Not copied. */
    public byte[] text() {
        return text;
    }

    /** Whether the next part belongs to another document. */
    public boolean endsDocument() {
        return endsDocument;
    }
}

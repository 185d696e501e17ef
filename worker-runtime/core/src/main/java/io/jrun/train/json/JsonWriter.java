package io.jrun.train.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes JSON (RFC 8259) on one line, with Jackson's generator. Stateless. */
public final class JsonWriter {
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
            .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
            .build();

    private JsonWriter() {}

    /**
     * The text of a value: a map with text keys, a list, a text, a whole number, a decimal number, a truth value or
     * null.
     *
     * @throws IllegalArgumentException for a value of another class, and for a text with half a surrogate pair
     */
    public static String write(@Nullable Object value) {
        StringWriter out = new StringWriter();
        try (JsonGenerator generator = FACTORY.createGenerator(out)) {
            append(generator, value);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a text in memory has no such error
        }
        return out.toString();
    }

    private static void append(JsonGenerator out, @Nullable Object value) throws IOException {
        switch (value) {
            case null -> out.writeNull();
            case String text -> out.writeString(whole(text));
            case Long number -> out.writeNumber(number);
            case Integer number -> out.writeNumber(number);
            case BigDecimal number -> out.writeNumber(number);
            case BigInteger number -> out.writeNumber(number);
            case Boolean flag -> out.writeBoolean(flag);
            case Map<?, ?> map -> {
                out.writeStartObject();
                for (Map.Entry<?, ?> member : map.entrySet()) {
                    out.writeFieldName(whole(String.valueOf(member.getKey())));
                    append(out, member.getValue());
                }
                out.writeEndObject();
            }
            case Iterable<?> elements -> {
                out.writeStartArray();
                for (Object element : elements) {
                    append(out, element);
                }
                out.writeEndArray();
            }
            default -> throw new IllegalArgumentException("JSON has no form for " + value.getClass());
        }
    }

    private static String whole(String text) {
        int half = Surrogates.half(text);
        if (half >= 0) {
            throw new IllegalArgumentException("a text has half a surrogate pair, " + Surrogates.name(text.charAt(half))
                    + ", at character " + half + ": " + OneLine.of(text));
        }
        return text;
    }
}

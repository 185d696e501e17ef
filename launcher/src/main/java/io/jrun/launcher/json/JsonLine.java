package io.jrun.launcher.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes and reads plain values as JSON on one line. Uses Jackson's streaming core alone: its object mapper would cost
 * every start of a job a tenth of a second. Stateless.
 */
public final class JsonLine {
    private static final JsonFactory FACTORY = new JsonFactory();

    /** Java writes larger doubles with an exponent, also a time since 1970: 1.795423345013E9. */
    private static final double LEAST_WITH_EXPONENT = 1e7;

    /** No time is so large. A number of so many digits is easier to read with an exponent. */
    private static final double LEAST_UNREADABLE = 1e15;

    private JsonLine() {}

    /** Maps, lists, texts, numbers and truth values as JSON. A number that JSON lacks is a text: "NaN", "Infinity". */
    public static String of(Object plain) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            write(plain, out);
        } catch (IOException e) {
            throw new UncheckedIOException("text in memory could not be written", e);
        }
        return text.toString();
    }

    private static void write(@Nullable Object value, JsonGenerator out) throws IOException {
        if (value instanceof Map<?, ?> map) {
            writeObject(map, out);
        } else if (value instanceof Iterable<?> list) {
            out.writeStartArray();
            for (Object element : list) {
                write(element, out);
            }
            out.writeEndArray();
        } else if (value instanceof Number number) {
            writeNumber(number, out);
        } else if (value instanceof Boolean truth) {
            out.writeBoolean(truth);
        } else if (value == null) {
            out.writeNull();
        } else {
            out.writeString(value.toString());
        }
    }

    private static void writeObject(Map<?, ?> map, JsonGenerator out) throws IOException {
        out.writeStartObject();
        for (Map.Entry<?, ?> field : map.entrySet()) {
            out.writeFieldName(String.valueOf(field.getKey()));
            write(field.getValue(), out);
        }
        out.writeEndObject();
    }

    private static void writeNumber(Number number, JsonGenerator out) throws IOException {
        double real = number.doubleValue();
        if (number instanceof Double && Math.abs(real) >= LEAST_WITH_EXPONENT && Math.abs(real) < LEAST_UNREADABLE) {
            out.writeNumber(BigDecimal.valueOf(real).toPlainString());
        } else if (number instanceof Double) {
            out.writeNumber(real);
        } else {
            out.writeNumber(number.longValue());
        }
    }

    /**
     * Reads {@code line}, one JSON object.
     *
     * @throws IOException if the line is no JSON object
     */
    public static Map<String, Object> read(String line) throws IOException {
        try (JsonParser in = FACTORY.createParser(line)) {
            if (in.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("this line is not a JSON object");
            }
            Map<String, Object> object = readObject(in);
            if (in.nextToken() != null) {
                throw new IOException("this line has more than a JSON object");
            }
            return object;
        }
    }

    private static Map<String, Object> readObject(JsonParser in) throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        while (in.nextToken() != JsonToken.END_OBJECT) {
            String name = in.currentName();
            in.nextToken();
            Object value = readValue(in);
            if (value != null) {
                map.put(name, value);
            }
        }
        return map;
    }

    private static @Nullable Object readValue(JsonParser in) throws IOException {
        return switch (in.currentToken()) {
            case START_OBJECT -> readObject(in);
            case START_ARRAY -> readArray(in);
            case VALUE_NUMBER_INT -> in.getLongValue();
            case VALUE_NUMBER_FLOAT -> in.getDoubleValue();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> in.getText();
        };
    }

    private static List<Object> readArray(JsonParser in) throws IOException {
        List<Object> list = new ArrayList<>();
        while (in.nextToken() != JsonToken.END_ARRAY) {
            Object value = readValue(in);
            if (value != null) {
                list.add(value);
            }
        }
        return list;
    }
}

package io.jrun.train.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads JSON (RFC 8259) with Jackson's streaming parser, for the headers, indexes and configurations of model files.
 * Two things are errors that RFC 8259 allows: a key that occurs twice, since readers would disagree on its value, and a
 * string with half a surrogate pair, since UTF-8 has no form of it. Values are Map, List, String, Long, BigInteger,
 * Double, Boolean or null. A whole number without fraction and exponent is a Long, beyond 64 bits a BigInteger:
 * Hugging Face's {@code tokenizer_config.json} has 10^30 for "no limit". {@code -0} is a Double. Each error names the
 * line and the column, both from 1. Stateless.
 */
public final class JsonReader {
    /** Configurations of models need about five levels. The limit keeps a hostile file from exhausting the stack. */
    private static final int MAX_DEPTH = 16;

    private static final JsonFactory STRICT = JsonFactory.builder()
            .configure(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES, false)
            .configure(JsonFactory.Feature.INTERN_FIELD_NAMES, false)
            .streamReadConstraints(StreamReadConstraints.builder() // the callers limit the text
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private static final JsonFactory RELAXED = STRICT.rebuild()
            .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
            .enable(JsonReadFeature.ALLOW_YAML_COMMENTS)
            .enable(JsonReadFeature.ALLOW_TRAILING_COMMA)
            .enable(JsonReadFeature.ALLOW_UNQUOTED_FIELD_NAMES)
            .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES)
            .build();

    private final JsonParser parser;
    private final String text;
    private final long linesBefore;

    private JsonReader(JsonParser parser, String text, long linesBefore) {
        this.parser = parser;
        this.text = text;
        this.linesBefore = linesBefore;
    }

    /**
     * Reads a text that is one object.
     *
     * @throws IllegalArgumentException if the text is malformed; the message names the line, the column, the text there
     *     and the expected text
     */
    public static Map<String, @Nullable Object> readObject(String text) {
        return read(STRICT, text, 1);
    }

    /** As {@link #readObject}, for one line of a file. {@code line} is its number from 1. */
    public static Map<String, @Nullable Object> readLine(long line, String text) {
        return read(STRICT, text, line);
    }

    /**
     * As {@link #readObject}, with parts of Hjson: comments ({@code #}, {@code //} and {@code /*}), a comma behind the
     * last member, keys without quotes, and single quotes.
     */
    public static Map<String, @Nullable Object> readRelaxed(String text) {
        return read(RELAXED, text, 1);
    }

    private static Map<String, @Nullable Object> read(JsonFactory factory, String text, long firstLine) {
        try (JsonParser parser = factory.createParser(text)) {
            return new JsonReader(parser, text, firstLine - 1).document();
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(
                    place(e.getLocation(), firstLine - 1) + JsonErrorText.of(e.getOriginalMessage()), e);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a text in memory has no such error
        }
    }

    private Map<String, @Nullable Object> document() throws IOException {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
            throw error("found " + standing() + ", expected '{'");
        }
        Map<String, @Nullable Object> object = object(0);
        requireEnd();
        return object;
    }

    private void requireEnd() throws IOException {
        try {
            if (parser.nextToken() == null) {
                return;
            }
        } catch (JsonProcessingException _) {
            // what stands there is not even the begin of a value
        }
        throw error("found " + standing() + ", expected the end of the text");
    }

    private Map<String, @Nullable Object> object(int depth) throws IOException {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String key = whole(parser.currentName());
            if (object.containsKey(key)) {
                throw error("key '" + key + "' occurs twice");
            }
            parser.nextToken();
            object.put(key, value(depth + 1));
        }
        return object;
    }

    private List<@Nullable Object> array(int depth) throws IOException {
        List<@Nullable Object> array = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            array.add(value(depth + 1));
        }
        return array;
    }

    private @Nullable Object value(int depth) throws IOException {
        if (depth > MAX_DEPTH) {
            throw error("more than " + MAX_DEPTH + " levels of lists and objects");
        }
        return switch (parser.currentToken()) {
            case START_OBJECT -> object(depth);
            case START_ARRAY -> array(depth);
            case VALUE_STRING -> whole(parser.getText());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> number(parser.getText());
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            default -> null;
        };
    }

    private Number number(String number) {
        double value = Double.parseDouble(number);
        if (Double.isInfinite(value)) {
            throw error("the number " + number + " is beyond 64 bits");
        }
        if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT || number.equals("-0")) {
            return value;
        }
        BigInteger whole = new BigInteger(number); // at most 309 digits
        return whole.bitLength() < Long.SIZE ? (Number) whole.longValue() : whole;
    }

    /** The text, if it has no half of a surrogate pair. */
    private String whole(String string) {
        int half = Surrogates.half(string);
        if (half >= 0) {
            throw error("the string has half a surrogate pair, " + Surrogates.name(string.charAt(half)));
        }
        return string;
    }

    /** The first character of the token that was read. */
    private String standing() {
        int at = (int) parser.currentTokenLocation().getCharOffset();
        return at < 0 || at >= text.length() ? "the end" : "'" + Character.toString(text.codePointAt(at)) + "'";
    }

    private IllegalArgumentException error(String what) {
        JsonLocation at = parser.currentToken() == null ? parser.currentLocation() : parser.currentTokenLocation();
        return new IllegalArgumentException(place(at, linesBefore) + OneLine.of(what));
    }

    private static String place(JsonLocation location, long linesBefore) {
        return "line " + (linesBefore + location.getLineNr()) + ", column " + location.getColumnNr() + ": ";
    }
}

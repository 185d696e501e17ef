package io.jrun.launcher.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import io.jrun.launcher.cli.JobFileValue.Kind;
import io.jrun.launcher.cli.JobFileValue.Mapping;
import io.jrun.launcher.cli.JobFileValue.Scalar;
import io.jrun.launcher.cli.JobFileValue.Sequence;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses the text of a job file. Numbers keep the form of the file, because YAML 1.1 reads 010 as 8 and 1.10 as 1.1.
 * The parser refuses parts that a reader of the file could overlook: a second document, a key given twice, an alias.
 * Confined to one thread.
 */
final class JobFileParser {
    /** The largest depth. A job file needs two levels: the options, and the variables of env. */
    private static final int MOST_LEVELS = 8;

    private final String name;
    private final JsonParser parser;

    private JobFileParser(String name, JsonParser parser) {
        this.name = name;
        this.parser = parser;
    }

    /**
     * @param name of the file. A name that ends in .json means the rules of JSON, any other name the rules of YAML,
     *     which include JSON
     */
    static JobFileValue parse(String name, String text) {
        JsonFactory format = name.endsWith(".json") ? new JsonFactory() : new YAMLFactory();
        try (JsonParser parser = format.createParser(text)) {
            return new JobFileParser(name, parser).document();
        } catch (JsonProcessingException e) {
            String where = e.getLocation() == null
                    ? ""
                    : ", line " + Math.max(1, e.getLocation().getLineNr());
            String what = e.getOriginalMessage().lines().findFirst().orElse("").replaceFirst(" \\(for .*", "");
            throw new UsageException(name + where + ": not readable: " + what + ".");
        } catch (IOException e) {
            throw new UsageException(name + ": not readable: " + e.getMessage() + ".");
        }
    }

    private JobFileValue document() throws IOException {
        JsonToken first = parser.nextToken();
        JobFileValue root = first == null ? new Scalar(1, Kind.NOTHING, "") : value(first, 1);
        if (parser.nextToken() != null) {
            throw refused(
                    "a second document begins here, and a job file is one. Remove it, or put it in a file of its own");
        }
        return root;
    }

    private JobFileValue value(JsonToken token, int level) throws IOException {
        if (level > MOST_LEVELS) {
            throw refused("more than " + MOST_LEVELS
                    + " lists or maps inside each other. Write option names and plain values");
        }
        refuseAlias();
        int line = line();
        return switch (token) {
            case START_OBJECT -> new Mapping(line, entries(level));
            case START_ARRAY -> new Sequence(line, items(level));
            case VALUE_STRING -> new Scalar(line, Kind.TEXT, parser.getText());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new Scalar(line, Kind.NUMBER, parser.getText());
            case VALUE_TRUE, VALUE_FALSE -> new Scalar(line, Kind.BOOLEAN, parser.getText());
            case VALUE_NULL -> new Scalar(line, Kind.NOTHING, "");
            case VALUE_EMBEDDED_OBJECT, END_OBJECT, END_ARRAY, FIELD_NAME, NOT_AVAILABLE ->
                throw refused("a value of a kind that no option takes. Write it as text");
        };
    }

    private Map<String, JobFileValue> entries(int level) throws IOException {
        Map<String, JobFileValue> entries = new LinkedHashMap<>();
        while (next() == JsonToken.FIELD_NAME) {
            refuseAlias();
            String key = parser.currentName();
            JobFileValue earlier = entries.get(key);
            if (earlier != null) {
                throw refused("key '" + key + "' is given twice, first in line " + earlier.line() + ". Give it once");
            }
            entries.put(key, value(next(), level + 1));
        }
        return entries;
    }

    private List<JobFileValue> items(int level) throws IOException {
        List<JobFileValue> items = new ArrayList<>();
        for (JsonToken token = next(); token != JsonToken.END_ARRAY; token = next()) {
            items.add(value(token, level + 1));
        }
        return items;
    }

    private JsonToken next() throws IOException {
        JsonToken token = parser.nextToken();
        if (token == null) {
            throw refused("the file ends too early");
        }
        return token;
    }

    /** Jackson returns an alias as its name. */
    private void refuseAlias() throws IOException {
        if (parser instanceof YAMLParser yaml && yaml.isCurrentAlias()) {
            throw refused("'*" + parser.getText()
                    + "' is a YAML alias, which a job file cannot have. Write the value itself");
        }
    }

    private int line() {
        return Math.max(1, parser.currentTokenLocation().getLineNr());
    }

    private UsageException refused(String why) {
        return new UsageException(name + ", line " + line() + ": " + why + ".");
    }
}

package io.jrun.launcher.flight;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Reads one dump. docs/operations.md describes the format. Confined to one thread. */
final class DumpReader {
    private static final int FORMAT = 1;

    private static final JsonMapper MAPPER = new JsonMapper();

    private final Path file;
    private final Map<String, Dump.Group> groups = new HashMap<>();
    private final List<DumpedOperation> operations = new ArrayList<>();
    private int line;

    private DumpReader(Path file) {
        this.file = file;
    }

    static Dump read(Path file) throws IOException {
        return new DumpReader(file).read(Files.readAllLines(file));
    }

    private Dump read(List<String> lines) {
        if (lines.isEmpty()) {
            throw unreadable("it is empty");
        }
        JsonNode header = parse(lines.getFirst());
        if (header.path("flightRecorder").asInt() != FORMAT) {
            throw unreadable("it does not begin with {\"flightRecorder\":" + FORMAT);
        }
        long dumpNanos = number(header, "dumpNanos");
        for (String text : lines.subList(1, lines.size())) {
            JsonNode node = parse(text);
            if (node.has("op")) {
                operations.add(operation(node, dumpNanos));
            } else {
                group(node);
            }
        }
        return new Dump(
                (int) number(header, "rank"),
                (int) number(header, "worldSize"),
                text(header, "host"),
                number(header, "pid"),
                (int) number(header, "round"),
                text(header, "reason"),
                groups,
                operations,
                number(header, "operations") == number(header, "kept"));
    }

    private void group(JsonNode node) {
        List<Integer> ranks = new ArrayList<>();
        node.path("ranks").forEach(rank -> ranks.add(rank.asInt()));
        String name = text(node, "group");
        groups.put(name, new Dump.Group(name, ranks, number(node, "started")));
    }

    private DumpedOperation operation(JsonNode node, long dumpNanos) {
        long ended = node.path("endedNanos").asLong(dumpNanos);
        DumpedOperation.State state = state(node);
        boolean clocked =
                node.has("startedNanos") && (state != DumpedOperation.State.COMPLETED || node.has("endedNanos"));
        return new DumpedOperation(
                text(node, "group"),
                number(node, "sequence"),
                text(node, "op"),
                text(node, "type"),
                number(node, "count"),
                text(node, "call"),
                node.path("peer").asInt(-1),
                node.path("tag").asInt(),
                state,
                clocked ? ended - number(node, "startedNanos") : 0,
                node.path("lateRank").asInt(-1),
                node.path("lateNanos").asLong());
    }

    private DumpedOperation.State state(JsonNode node) {
        String label = text(node, "state");
        try {
            return DumpedOperation.State.valueOf(label.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw unreadable("unknown state '" + label + "'");
        }
    }

    private JsonNode parse(String text) {
        line++;
        try {
            return MAPPER.readTree(text);
        } catch (JsonProcessingException e) {
            throw unreadable("no JSON");
        }
    }

    private long number(JsonNode node, String name) {
        if (!node.path(name).isNumber()) {
            throw unreadable("'" + name + "' is missing or no number");
        }
        return node.path(name).asLong();
    }

    private String text(JsonNode node, String name) {
        if (!node.path(name).isTextual()) {
            throw unreadable("'" + name + "' is missing or no text");
        }
        return node.path(name).asText();
    }

    private DumpException unreadable(String why) {
        return new DumpException(
                file + ", line " + Math.max(line, 1) + ", is no flight recorder's dump of this version: " + why + ".");
    }
}

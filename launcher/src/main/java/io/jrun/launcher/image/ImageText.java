package io.jrun.launcher.image;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.image.CachedImage;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Formats images as text for people and as JSON for programs. Stateless. */
final class ImageText {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm", Locale.ROOT).withZone(ZoneId.systemDefault());
    private static final int DIGEST_CHARS = 19; // sha256: and 12 digits
    private static final double GIGA = 1e9;
    private static final double MEGA = 1e6;
    private static final double KILO = 1e3;

    private ImageText() {}

    /** The output of {@code ls}. */
    static String list(List<CachedImage> images, boolean json) throws IOException {
        List<Object> plain = new ArrayList<>();
        StringBuilder text = new StringBuilder("%-19s  %9s  %-16s  %s%n".formatted("DIGEST", "SIZE", "USED", "NAMES"));
        for (CachedImage image : images) {
            plain.add(head(image));
            text.append("%-19s  %9s  %-16s  %s%n"
                    .formatted(
                            image.digest().substring(0, DIGEST_CHARS),
                            size(image.unpackedBytes()),
                            TIME.format(image.used()),
                            String.join(" ", image.names())));
        }
        return json ? JsonLine.of(Map.of("images", plain)) : text.toString();
    }

    private static Map<String, Object> head(CachedImage image) throws IOException {
        JsonNode description = image.description();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("digest", image.digest());
        json.put("names", image.names());
        json.put("platform", description.path("platform").asText());
        json.put("layers", description.path("layers").asInt());
        json.put("layerBytes", description.path("bytes").asLong());
        json.put("unpackedBytes", description.path("unpacked").asLong());
        json.put("folder", image.root().toString());
        json.put("prepared", image.prepared().toString());
        json.put("used", image.used().toString());
        return json;
    }

    /** The output of {@code inspect} for an image of the cache. */
    static String describe(CachedImage image, boolean json) throws IOException {
        Map<String, Object> head = head(image);
        JsonNode config = image.description().path("config");
        for (String name : List.of("Env", "Entrypoint", "Cmd", "WorkingDir", "User")) {
            if (config.hasNonNull(name)) {
                head.put(
                        name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1),
                        new ObjectMapper().convertValue(config.get(name), Object.class));
            }
        }
        return json ? JsonLine.of(head) : lines(head);
    }

    /** The output of {@code inspect} for a .sqsh file. */
    static String squashfs(Map<String, String> settings, Path file, boolean json) throws IOException {
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put("file", file.toString());
        plain.put("bytes", Files.size(file));
        plain.putAll(settings);
        return json ? JsonLine.of(plain) : lines(plain);
    }

    private static String lines(Map<String, Object> values) {
        StringBuilder text = new StringBuilder();
        values.forEach((name, value) -> {
            List<?> items = value instanceof List<?> list ? list : List.of(value);
            String title = name;
            for (Object item : items) {
                for (String line : item.toString().split("\n", -1)) {
                    text.append("%-14s %s%n".formatted(title, line));
                    title = "";
                }
            }
        });
        return text.toString();
    }

    /** The size as text with a unit. */
    static String size(long bytes) {
        if (bytes >= GIGA) {
            return String.format(Locale.ROOT, "%.1f GB", bytes / GIGA);
        }
        return bytes >= MEGA
                ? String.format(Locale.ROOT, "%.1f MB", bytes / MEGA)
                : String.format(Locale.ROOT, "%.1f kB", bytes / KILO);
    }
}

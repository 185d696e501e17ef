package io.jrun.launcher.dashboard;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;

/** The scripts and styles of the pages, by name. A name that is not in the list does not exist. Stateless. */
final class Assets {
    private static final String JAVASCRIPT = "text/javascript; charset=utf-8";
    private static final String CSS = "text/css; charset=utf-8";

    /** The type of each file. */
    static final Map<String, String> TYPES = Map.ofEntries(
            Map.entry("app.js", JAVASCRIPT),
            Map.entry("charts.js", JAVASCRIPT),
            Map.entry("dom.js", JAVASCRIPT),
            Map.entry("heatmap.js", JAVASCRIPT),
            Map.entry("job.js", JAVASCRIPT),
            Map.entry("jobs.js", JAVASCRIPT),
            Map.entry("live.js", JAVASCRIPT),
            Map.entry("logs.js", JAVASCRIPT),
            Map.entry("panels.js", JAVASCRIPT),
            Map.entry("page.css", CSS),
            Map.entry("uPlot.iife.min.js", JAVASCRIPT),
            Map.entry("uPlot.min.css", CSS));

    private Assets() {}

    /** A file of this package's resources as text. */
    static String text(String name) {
        try (InputStream in = Objects.requireNonNull(Assets.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("the resource " + name + " cannot be read", e);
        }
    }
}

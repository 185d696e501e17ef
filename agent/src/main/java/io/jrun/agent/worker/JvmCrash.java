package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The cause of a JVM's crash, from HotSpot's report of the crash ({@code hs_err_pid*.log}). After a crash the process
 * ends by SIGABRT, so that its exit code does not show the signal of the crash. Stateless.
 */
final class JvmCrash {
    /** The summary at the beginning of a report has less than 4 kB. */
    private static final int MAX_BYTES = 16 << 10;

    private static final Pattern SIGNAL = Pattern.compile("#\\s+(SIG[A-Z0-9]+) \\(0x[0-9a-f]+\\) at pc=.*");
    private static final Pattern INTERNAL_ERROR = Pattern.compile("#\\s+(Internal Error) \\(.*");
    private static final Pattern NO_MEMORY =
            Pattern.compile("#\\s+(Native memory allocation .*|.*Out of Memory Error.*)");
    private static final Pattern FRAME = Pattern.compile("#\\s+([CVjJAv])\\s+(.*\\S)\\s*");
    private static final String FRAME_TITLE = "# Problematic frame:";

    /** HotSpot's letters of frames. */
    private static final Map<String, String> CODE = Map.of(
            "C", "native code", "V", "the JVM", "v", "the JVM", "j", "Java code", "J", "Java code", "A", "Java code");

    private JvmCrash() {}

    /**
     * Returns the crash that a report in {@code logDir} describes, such as {@code SIGSEGV in native code, at
     * [libc.so.6+0x167ad8] strlen}.
     */
    static Optional<String> in(Path logDir) {
        try (DirectoryStream<Path> reports = Files.newDirectoryStream(logDir, "hs_err_pid*")) {
            for (Path report : reports) {
                Optional<String> crash = of(report);
                if (crash.isPresent()) {
                    return crash;
                }
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return Optional.empty();
    }

    private static Optional<String> of(Path report) throws IOException {
        if (!Files.isRegularFile(report)) {
            return Optional.empty();
        }
        try (var in = Files.newInputStream(report)) {
            return of(new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8)
                    .lines()
                    .toList());
        }
    }

    private static Optional<String> of(List<String> lines) {
        return first(SIGNAL, lines)
                .or(() -> first(INTERNAL_ERROR, lines))
                .map(matcher -> matcher.group(1) + frame(lines))
                .or(() -> first(NO_MEMORY, lines).map(matcher -> "out of memory: " + matcher.group(1)));
    }

    private static String frame(List<String> lines) {
        int title = lines.indexOf(FRAME_TITLE);
        if (title < 0 || title + 1 >= lines.size()) {
            return "";
        }
        Matcher frame = FRAME.matcher(lines.get(title + 1));
        return frame.matches()
                ? " in " + CODE.get(frame.group(1)) + ", at " + frame.group(2).replaceAll("\\s+", " ")
                : "";
    }

    private static Optional<Matcher> first(Pattern pattern, List<String> lines) {
        return lines.stream().map(pattern::matcher).filter(Matcher::matches).findFirst();
    }
}

package io.jrun.launcher.doctor;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds a TMPDIR that cannot be used on this machine. It often comes from another node. Stateless. */
public final class TemporaryFolderCheck implements Check {
    @Override
    public List<CheckResult> run() {
        return problem(System.getenv(), System.getProperty("java.io.tmpdir")).stream()
                .map(text -> CheckResult.problem("TMPDIR", text))
                .toList();
    }

    /**
     * Returns one line without a full stop; empty if jrun uses TMPDIR, or if TMPDIR is no absolute path.
     *
     * @param used the folder that jrun uses
     */
    public static Optional<String> problem(Map<String, String> environment, String used) {
        String chosen = environment.getOrDefault("TMPDIR", "");
        if (!chosen.startsWith("/") || chosen.equals(used)) {
            return Optional.empty();
        }
        Path folder = Path.of(chosen);
        String why = !Files.exists(folder)
                ? "does not exist here"
                : !Files.isDirectory(folder) ? "is no folder" : "cannot be written by this user";
        return Optional.of(
                "TMPDIR=" + chosen + " " + why + "; jrun uses " + used + " (unset TMPDIR, or make the folder)");
    }
}

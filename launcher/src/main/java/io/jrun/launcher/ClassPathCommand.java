package io.jrun.launcher;

import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.JvmDefaults;
import io.jrun.launcher.json.JsonLine;
import java.io.File;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** {@code jrun classpath}: the runtime that workers have on their class path, for IDEs, jshell and plain {@code java}. */
final class ClassPathCommand {
    private ClassPathCommand() {}

    /** Returns the class path on one line; as JSON a list, with the JVM options of each worker. */
    static String run(Path home, boolean json) {
        List<String> jars = AgentOptions.ofHome(home, Version.TEXT).runtimeClassPath().stream()
                .map(Path::toString)
                .toList();
        if (!json) {
            return jars.stream().collect(Collectors.joining(File.pathSeparator));
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("classPath", jars);
        fields.put("jvmOptions", JvmDefaults.ofEachWorker());
        return JsonLine.of(fields);
    }
}

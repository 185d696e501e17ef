package io.jrun.agent.log;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.function.Consumer;

/** What an agent has heard about its job, in a file that is made with its first line. Confined to the job's thread. */
public final class AgentLog {
    private final Path folder;
    private final String name;
    private final Consumer<String> notices;

    /**
     * The log of the agent on {@code host}.
     *
     * @param runLogDir the job's log folder on this node
     * @param notices hears of a line that could not be written
     */
    public AgentLog(Path runLogDir, String host, Consumer<String> notices) {
        this.folder = runLogDir;
        this.name = "agent-" + host + ".log";
        this.notices = notices;
    }

    /** Appends a line, after the time (UTC). */
    public void write(String text) {
        try {
            Files.createDirectories(folder);
            Files.writeString(
                    folder.resolve(name),
                    Instant.now() + " " + text + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            notices.accept("the agent's log could not be written: " + e);
        }
    }
}
